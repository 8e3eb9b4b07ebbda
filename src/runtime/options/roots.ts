/** The folders that servers see as roots: parses the host's choice and reports changes. */

import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { z } from 'zod';

import type { RootFolder } from '../../domain/question.ts';
import { argumentsError } from '../../domain/user-errors.ts';

/** A path or a `file:` URL, with or without a name. */
export type RootChoice = string | RootFolder;

// More folders than any workspace has.
const maxRoots = 1_000;
const longestPath = 4_096;
const longestName = 128;

const path = z.string().min(1).max(longestPath);

/** The schema in which a host specifies roots. */
export const rootChoices = z
  .array(
    z.union([path, z.strictObject({ uri: path, name: z.string().max(longestName).optional() })]),
  )
  .max(maxRoots);

export class Roots {
  readonly #projectRoot: string;
  readonly #listeners = new Set<() => void>();
  #folders: readonly RootFolder[] | undefined;

  /** @param chosen - undefined if servers see no roots until the host specifies some */
  constructor(chosen: readonly RootChoice[] | undefined, projectRoot: string) {
    this.#projectRoot = projectRoot;
    this.#folders = chosen && foldersOf(chosen, projectRoot);
  }

  get folders(): readonly RootFolder[] | undefined {
    return this.#folders;
  }

  set(chosen: readonly RootChoice[]): void {
    this.#folders = foldersOf(chosen, this.#projectRoot);
    for (const listener of [...this.#listeners]) listener();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

/** @throws TroupeError `INVALID_ARGUMENTS` for anything but a local folder. */
function foldersOf(chosen: readonly RootChoice[], projectRoot: string): readonly RootFolder[] {
  return chosen.map((choice) => {
    const { uri, name } = typeof choice === 'string' ? { uri: choice, name: undefined } : choice;
    const folder = pathOf(uri, projectRoot);
    return { uri: pathToFileURL(folder).href, name: name ?? basename(folder) };
  });
}

function pathOf(text: string, projectRoot: string): string {
  if (!/^[a-z][a-z\d+.-]+:/iu.test(text)) return resolve(projectRoot, text);
  try {
    return fileURLToPath(text);
  } catch {
    const message = 'A root must be a path, or an address that begins with file:.';
    throw argumentsError(message);
  }
}
