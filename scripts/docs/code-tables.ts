/**
 * Tables of codes, outcomes and failure kinds, from the comments of the domain.
 * A code that no source file uses is marked as reserved.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CallerCode, exitCodeOf } from '../../src/domain/caller-code.ts';
import { type FailureKind, isPermanent, isTransient } from '../../src/domain/failure.ts';
import { membersOf } from './doc-comments.ts';
import { code, table } from './markdown.ts';

export async function codeTable(root: string): Promise<string> {
  const used = await usedCodes(root);
  return table(
    ['exit', 'code', 'means'],
    membersOf('src/domain/caller-code.ts', 'exitCodeOf').map(({ name, doc }) => [
      String(exitCodeOf[name as CallerCode]),
      code(name),
      used.has(name) ? doc : `${doc} *Reserved: not used yet.*`,
    ]),
  );
}

export function outcomeTable(): string {
  return table(
    ['outcome', 'means'],
    membersOf('src/domain/caller-code.ts', 'Outcome').map(({ name, doc }) => [code(name), doc]),
  );
}

export function failureKindTable(): string {
  return table(
    ['kind', 'lasts', 'means'],
    membersOf('src/domain/failure.ts', 'failureKinds').map(({ name, doc }) => [
      code(name),
      lastingOf(name as FailureKind),
      doc,
    ]),
  );
}

function lastingOf(kind: FailureKind): string {
  if (isPermanent(kind)) return 'permanent';
  return isTransient(kind) ? 'transient' : 'neither';
}

/** Finds the codes that the shipped source names outside their list. */
async function usedCodes(root: string): Promise<ReadonlySet<string>> {
  const sources = await Promise.all(
    ['src', 'actors', 'machines'].map((folder) => sourcesIn(join(root, folder))),
  );
  const words = sources.flat().flatMap((source) => source.match(/'[A-Z_]+'/g) ?? []);
  return new Set(words.map((word) => word.slice(1, -1)));
}

async function sourcesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter(({ name }) => name.endsWith('.ts') && name !== 'caller-code.ts');
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}
