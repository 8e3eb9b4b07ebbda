/**
 * Writes the public interface of the package as text: `npm run api`. With `--check`
 * it changes nothing, names the stale reports and exits with 1 when there are any.
 *
 * It prints how many types no entry exports although a public one names them, and how many public
 * types and fields have no comment; it exits with 1 when there are any.
 *
 * It reads `dist/`, so the package has to be built first.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Extractor, ExtractorConfig, ExtractorMessageCategory } from '@microsoft/api-extractor';
import ts from 'typescript';

import { root, writeOrCheck } from './generated-files.ts';

const reports = [
  { entry: 'dist/src/index.d.ts', path: 'docs/api.md' },
  { entry: 'dist/src/inspection.d.ts', path: 'docs/api/inspection.md' },
  { entry: 'dist/src/login.d.ts', path: 'docs/api/login.md' },
  { entry: 'dist/src/settings/index.d.ts', path: 'docs/api/settings.md' },
  { entry: 'dist/src/testing/index.d.ts', path: 'docs/api/testing.md' },
];

/** The names that the entries export together; one that another entry exports is not forgotten. */
function namesOf(entries: readonly string[]): ReadonlySet<string> {
  const program = ts.createProgram(
    entries.map((entry) => path.join(root, entry)),
    {},
  );
  const checker = program.getTypeChecker();
  const exported = entries.flatMap((entry) => {
    const source = program.getSourceFile(path.join(root, entry));
    const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
    return module === undefined ? [] : checker.getExportsOfModule(module);
  });
  return new Set(exported.map(({ name }) => name));
}

const names = namesOf(reports.map(({ entry }) => entry));
const missing = { forgotten: 0, undocumented: 0 };
const noWarnings = /^\/\/ Warnings were encountered during analysis:\n\/\/\n\n/mu;
const forgotten =
  /^(?: *\/\/ Warning: |\/\/ dist\/\S+ - )\(ae-forgotten-export\) The symbol "(\w+)" .*\n(?: *\/\/\n)?/gmu;

async function reportOf(entry: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'api-report-'));
  const configObjectFullPath = path.join(root, 'api-extractor.json');
  const base = ExtractorConfig.loadFile(configObjectFullPath);
  const config = ExtractorConfig.prepare({
    configObject: {
      ...base,
      projectFolder: root,
      mainEntryPointFilePath: path.join(root, entry),
      apiReport: {
        enabled: true,
        reportFileName: 'report',
        reportFolder: folder,
        reportTempFolder: path.join(folder, 'temp'),
      },
    },
    configObjectFullPath,
    packageJsonFullPath: path.join(root, 'package.json'),
  });
  const { errorCount } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      // The file in the temporary folder is always new.
      if (message.category === ExtractorMessageCategory.Console) message.handled = true;
    },
  });
  const text = await readFile(path.join(folder, 'report.api.md'), 'utf8');
  await rm(folder, { recursive: true });
  if (errorCount > 0) throw new Error(`no report of ${entry}: its faults are above`);
  const report = text
    .replaceAll(forgotten, (warning, name: string) => (names.has(name) ? '' : warning))
    .replace(noWarnings, '');
  missing.forgotten += report.split('(ae-forgotten-export)').length - 1;
  missing.undocumented += report.split('(undocumented)').length - 1;
  return report;
}

const files = await Promise.all(
  reports.map(async ({ entry, path: report }) => {
    const text = await reportOf(entry);
    return { path: report, update: () => text };
  }),
);
await writeOrCheck(files, 'run `npm run api`, and add a changeset if callers notice it');
console.log(
  `${missing.forgotten} forgotten exports, ${missing.undocumented} undocumented types and fields`,
);
if (missing.forgotten + missing.undocumented > 0) {
  console.error('export each named type from an entry, and give each type and field a comment');
  process.exitCode = 1;
}
