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
import type { Problem } from '../../src/domain/settings.ts';
import { codeOf, realFolder, replaceWhole } from '../files/file-system.ts';
import { readPrivateJson, setAside } from '../files/private-file.ts';
import { withFileLock } from './file-lock.ts';

export interface PermissionStorePorts {
  readonly projectRoot: string;
  /** The state folder; if absent, choices end with the run. */
  readonly stateDir?: string | undefined;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

export type PermissionStore = ReturnType<typeof createPermissionStore>;

const version = 1;
// A few thousand choices; no user makes more.
const maxBytes = 1024 * 1024;
const maxChoices = 2_000;

const text = z.string().min(1);
const digest = z.string().regex(/^[0-9a-f]{64}$/u);
const fileSchema = z.strictObject({
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
});

type StoredChoice = PermissionChoice & { readonly project: string };

/** Returns the path of the file with all projects' choices. */
export function permissionFile(stateDir: string): string {
  return path.join(stateDir, 'permissions.json');
}

export function createPermissionStore({
  stateDir,
  clock,
  projectRoot,
  onProblems,
}: PermissionStorePorts) {
  const file = stateDir === undefined ? undefined : permissionFile(stateDir);
  const project = realFolder(projectRoot);
  /** Choices that are not on disk, because there is no file or it cannot be written. */
  let unsaved: readonly PermissionChoice[] = [];

  const report = (place: string, message: string): void => onProblems([{ file: place, message }]);

  const change = (place: string, edit: (all: readonly StoredChoice[]) => readonly StoredChoice[]) =>
    withFileLock(place, clock, async () => {
      const all = await readChoices(place, clock, report);
      if (all === undefined) return false;
      const choices = edit(all).slice(-maxChoices);
      await replaceWhole(place, `${JSON.stringify({ version, choices }, undefined, 1)}\n`);
      return true;
    });

  const isOwn = (choice: StoredChoice): boolean => choice.project === project;

  return {
    /** The project's choices, oldest first. Never rejects: an untrusted file allows nothing. */
    async choices(): Promise<readonly PermissionChoice[]> {
      if (file === undefined) return unsaved;
      try {
        const stored = (await readChoices(file, clock, report)) ?? [];
        const own = stored
          .filter(isOwn)
          .map(({ project: _project, ...choice }) => ({ ...choice, file }));
        return [...own, ...unsaved];
      } catch (error) {
        report(
          file,
          `the file of permissions cannot be set aside (${codeOf(error)}); move it away`,
        );
        return unsaved;
      }
    },

    /**
     * Resolves once the choice is in effect. Never rejects: if it cannot be saved, it applies to
     * this run only and a problem is reported.
     */
    async add(choice: PermissionChoice): Promise<void> {
      const isOther = (one: PermissionChoice): boolean =>
        one.server !== choice.server || one.tool !== choice.tool;
      const keepUnsaved = (): void => {
        unsaved = [...unsaved.filter(isOther), choice].slice(-maxChoices);
      };
      if (file === undefined) return keepUnsaved();
      try {
        const isSaved = await change(file, (all) => [
          ...all.filter((one) => !isOwn(one) || isOther(one)),
          { ...choice, project },
        ]);
        if (!isSaved) keepUnsaved();
      } catch (error) {
        keepUnsaved();
        const code = codeOf(error);
        report(
          file,
          `permissions cannot be saved (${code}); make room or let this user write there; choices made meanwhile end with this run`,
        );
      }
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
      if (file === undefined) return count;
      await change(file, (all) => {
        const kept = all.filter((one) => !isOwn(one) || !isMeant(one));
        count += all.length - kept.length;
        return kept;
      });
      return count;
    },
  };
}

/** Reads all projects' choices; returns undefined if the file is untrusted, which is reported. */
async function readChoices(
  file: string,
  clock: Clock,
  report: (file: string, message: string) => void,
): Promise<readonly StoredChoice[] | undefined> {
  const reading = await readPrivateJson(file, { maxBytes, version, schema: fileSchema });
  if ('refusal' in reading) {
    report(
      file,
      `the file of permissions ${reading.refusal}; until then every call needs an answer`,
    );
    return undefined;
  }
  if (!('damage' in reading)) return reading.value?.choices ?? [];
  const aside = await setAside(file, clock.wallNow());
  report(
    aside,
    `the permissions were damaged (${reading.damage}) and are set aside here; answer again`,
  );
  return [];
}
