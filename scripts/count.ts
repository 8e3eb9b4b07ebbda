/**
 * Prints how large the repository is and how plain its English: files, lines and lines of
 * code per folder, and how often words appear that read like a translation.
 * `npm run count` counts the last commit, `-- COMMIT` another one; `-- --matches` also
 * lists each match.
 *
 * A line of code holds at least one token, so comments, blank lines and Markdown do not
 * count as code. The API reports are generated and left out, as are quotations in prose.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { codeLines, folderOf } from './code-lines.ts';

const translated =
  /\b(?:mend\w*|whoever|whom|(?:is|are|was) told|nobody|somebody|in vain|anew|looked after)\b/gi;
const counted = /\.(?:[cm]?[jt]sx?|md)$/;
// This file spells out what it searches for.
const leftOut = /^(?:docs\/api(?:-testing)?\.md|scripts\/count\.ts)$/;

/** Sums by path; in older commits, `bench` and `faults` were top-level folders. */
const sums: Readonly<Record<string, RegExp>> = {
  'src machines actors': /^(?:src|machines|actors)\//,
  'tools: scripts, lab, …': /^(?:scripts|(?:test\/)?(?:bench|faults|lab|tools))\//,
  everything: /./,
  'README.md': /^README\.md$/,
};

interface FileCount {
  readonly path: string;
  readonly folder: string;
  readonly lines: number;
  readonly code: number;
  readonly matches: readonly string[];
}

const { values, positionals } = parseArgs({
  options: { matches: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = filesOf(positionals[0] ?? 'HEAD');
if (values.matches) for (const line of files.flatMap(({ matches }) => matches)) console.log(line);

printRow('folder', 'files', 'lines', 'code', 'matches', 'per 10⁴');
for (const folder of [...new Set(files.map((file) => file.folder))].sort()) {
  printSum(folder, (file) => file.folder === folder);
}
console.log('');
for (const [name, paths] of Object.entries(sums)) printSum(name, ({ path }) => paths.test(path));

function filesOf(commit: string): readonly FileCount[] {
  const root = mkdtempSync(join(tmpdir(), 'troupe-count-'));
  try {
    const tar = execFileSync('git', ['archive', commit], { maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', root], { input: tar });
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => counted.test(path) && !leftOut.test(path))
      .map((path) => countFile(path, readFileSync(join(root, path), 'utf8')));
  } finally {
    rmSync(root, { recursive: true });
  }
}

function countFile(path: string, text: string): FileCount {
  const lines = text.trimEnd().split('\n');
  const isMarkdown = path.endsWith('.md');
  const matches = lines.flatMap((line, index) => {
    const found = withoutQuotations(line, isMarkdown).matchAll(translated);
    return [...found].map(([match]) => `${path}:${String(index + 1)}: ${match}`);
  });
  const code = isMarkdown ? 0 : codeLines(path, text);
  return { path, folder: folderOf(path), lines: lines.length, code, matches };
}

/** In Markdown and comments, quotation marks enclose foreign text; in code, our own strings. */
function withoutQuotations(line: string, isMarkdown: boolean): string {
  if (isMarkdown && line.startsWith('>')) return '';
  const isProse = isMarkdown || /^\s*(?:\/?\*|\/\/)/.test(line);
  return isProse ? line.replaceAll(/"[^"]*"|“[^”]*”/g, '') : line;
}

function printSum(name: string, isIncluded: (file: FileCount) => boolean): void {
  let [count, lines, code, matches] = [0, 0, 0, 0];
  for (const file of files.filter(isIncluded)) {
    count += 1;
    lines += file.lines;
    code += file.code;
    matches += file.matches.length;
  }
  const rate = ((matches * 10_000) / Math.max(lines, 1)).toFixed(1);
  printRow(name, count, lines, code, matches, rate);
}

function printRow(name: string, ...cells: readonly (number | string)[]): void {
  console.log([name.padEnd(22), ...cells.map((cell) => String(cell).padStart(9))].join(''));
}
