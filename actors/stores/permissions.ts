/**
 * Stores what the user allowed for more than one call in a project: on disk with a state folder,
 * otherwise in memory.
 *
 * The file is reread for each request, which is fast compared with asking the user. A choice that
 * another process or an editor revoked therefore stops counting at once. The file is trusted only
 * if this program could have written all of it and no other user could have.
 */

import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import type { PermissionChoice } from '../../src/domain/permission.ts';
import { codeOf, realFolder } from '../files/file-system.ts';
import { contentIn, RecordFile } from './record-file.ts';
import { type StorePorts, StoreProblems } from './store-problems.ts';

export interface PermissionStorePorts extends StorePorts {
  readonly projectRoot: string;
}

export type PermissionStore = ReturnType<typeof createPermissionStore>;

const version = 1;
// A few thousand choices; no user makes more.
const maxBytes = 1024 * 1024;
const maxChoices = 2_000;

const text = z.string().min(1);
const digest = z.string().regex(/^[0-9a-f]{64}$/u);

type StoredChoice = PermissionChoice & { readonly project: string };

interface StoredChoices {
  readonly version: number;
  readonly choices: readonly StoredChoice[];
}

const form = {
  version,
  maxBytes,
  schema: z.strictObject({
    version: z.literal(version),
    choices: z.array(
      z.strictObject({
        project: text,
        server: text,
        fingerprint: digest,
        tool: text.optional(),
        digest: digest.optional(),
        decidedAt: z.number(),
      }),
    ),
  }) as z.ZodType<StoredChoices>,
};

/** Returns the path of the file with all projects' choices. */
export function permissionFile(stateDir: string): string {
  return path.join(stateDir, 'permissions.json');
}

function choiceFile(
  stateDir: string,
  clock: Clock,
  problems: StoreProblems,
): RecordFile<StoredChoices> {
  const place = permissionFile(stateDir);
  return new RecordFile({
    ...form,
    path: place,
    clock,
    onReading: (reading) => {
      const why = reading.found === 'refused' ? reading.why : undefined;
      problems.set(
        'trust',
        place,
        why && `the file of permissions ${why}; until then every call needs an answer`,
      );
    },
    onAside: (aside, why) =>
      problems.set(
        aside,
        aside,
        `the permissions were damaged (${why}) and are set aside here; answer again`,
      ),
  });
}

export function createPermissionStore({
  stateDir,
  clock,
  projectRoot,
  onProblems,
}: PermissionStorePorts) {
  const project = realFolder(projectRoot);
  /** Choices that are not on disk, because there is no file or it cannot be written. */
  let unsaved: readonly PermissionChoice[] = [];

  const problems = new StoreProblems(onProblems);
  const file = stateDir === undefined ? undefined : choiceFile(stateDir, clock, problems);
  const change = (edit: (all: readonly StoredChoice[]) => readonly StoredChoice[]) =>
    file?.update((content) => ({
      version,
      choices: edit(content?.choices ?? []).slice(-maxChoices),
    }));

  const isOwn = (choice: StoredChoice): boolean => choice.project === project;

  return {
    /** The project's choices, oldest first. Never rejects: an untrusted file allows nothing. */
    async choices(): Promise<readonly PermissionChoice[]> {
      if (file === undefined) return unsaved;
      const reading = await file.read();
      const code = reading.found === 'failed' ? codeOf(reading.error) : undefined;
      problems.set(
        'reading',
        file.path,
        code && `the file of permissions cannot be set aside (${code}); move it away`,
      );
      const own = (contentIn(reading)?.choices ?? [])
        .filter(isOwn)
        .map(({ project: _project, ...choice }) => ({ ...choice, file: file.path }));
      return [...own, ...unsaved];
    },

    /**
     * Resolves once the choice is in effect. Never rejects: if it cannot be saved, it applies to
     * this run only and a problem is reported.
     */
    async add(choice: PermissionChoice): Promise<void> {
      const isOther = (one: PermissionChoice): boolean =>
        one.server !== choice.server || one.tool !== choice.tool;
      const saved = await change((all) => [
        ...all.filter((one) => !isOwn(one) || isOther(one)),
        { ...choice, project },
      ]);
      if (file !== undefined && saved?.found === 'kept') problems.set('saving', file.path);
      if (saved?.found === 'kept') return;
      unsaved = [...unsaved.filter(isOther), choice].slice(-maxChoices);
      if (file === undefined || saved?.found !== 'failed') return;
      const code = codeOf(saved.error);
      const remedy =
        code === 'EFBIG'
          ? 'forget some with troupe permissions forget'
          : 'make room or let this user write there';
      problems.set(
        'saving',
        file.path,
        `permissions cannot be saved (${code}); ${remedy}; choices made meanwhile end with this run`,
      );
    },

    /**
     * Revokes all choices, all choices of one server, or those for one of its tools.
     *
     * @returns the number of revoked choices
     * @throws file-system errors
     */
    async forget({
      server,
      tool,
    }: Partial<Pick<PermissionChoice, 'server' | 'tool'>>): Promise<number> {
      const isMeant = (choice: PermissionChoice): boolean =>
        (server === undefined || choice.server === server) &&
        (tool === undefined || choice.tool === tool);
      let count = unsaved.filter(isMeant).length;
      unsaved = unsaved.filter((choice) => !isMeant(choice));
      const changed = await change((all) => {
        const kept = all.filter((one) => !isOwn(one) || !isMeant(one));
        count += all.length - kept.length;
        return kept;
      });
      if (changed?.found === 'failed') throw changed.error;
      return count;
    },
  };
}
