/**
 * What the user allowed for more than one call, in one project: on disk if there is a state folder,
 * else until the run ends.
 *
 * The file is read again for each request, which is fast compared with asking the user, so what
 * another process or an editor revoked counts at once. The file is trusted only if all of it is as
 * we write it and no other user could have written it.
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
  /** Absent: choices end with the run. */
  readonly stateDir?: string | undefined;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

/** Selects all choices, those of a server, or those of one of its tools. */
export interface ChoiceFilter {
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
}

export interface PermissionStore {
  /** The project's choices, oldest first. Never rejects: an untrusted file allows nothing. */
  choices(): Promise<readonly PermissionChoice[]>;
  /** Settles when it applies. Never rejects: a choice that cannot be saved applies to this run, and a problem says so. */
  add(choice: PermissionChoice): Promise<void>;
  /** Revokes choices and returns how many. @throws what the file system throws. */
  forget(filter: ChoiceFilter): Promise<number>;
}

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

interface StoredChoice extends PermissionChoice {
  readonly project: string;
}

/** Where the choices of all projects are kept. */
export function permissionFile(stateDir: string): string {
  return path.join(stateDir, 'permissions.json');
}

export function createPermissionStore(ports: PermissionStorePorts): PermissionStore {
  const { stateDir, clock, projectRoot, onProblems } = ports;
  const file = stateDir === undefined ? undefined : permissionFile(stateDir);
  const project = realFolder(projectRoot);
  /** Choices that are not on disk, because there is no file or it cannot be written. */
  let unsaved: readonly PermissionChoice[] = [];

  const say = (place: string, message: string): void => onProblems([{ file: place, message }]);

  const read = (place: string) => readChoices(place, clock, say);

  const change = (place: string, edit: (all: readonly StoredChoice[]) => readonly StoredChoice[]) =>
    withFileLock(place, clock, async () => {
      const all = await read(place);
      if (all === undefined) return false;
      const choices = edit(all).slice(-maxChoices);
      await replaceWhole(place, `${JSON.stringify({ version, choices }, undefined, 1)}\n`);
      return true;
    });

  const isOwn = (choice: StoredChoice): boolean => choice.project === project;

  return {
    async choices() {
      if (file === undefined) return unsaved;
      try {
        const stored = (await read(file)) ?? [];
        const own = stored
          .filter(isOwn)
          .map(({ project: _project, ...choice }) => ({ ...choice, file }));
        return [...own, ...unsaved];
      } catch (error) {
        say(file, `the file of permissions cannot be set aside (${codeOf(error)}); move it away`);
        return unsaved;
      }
    },

    async add(choice) {
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
        say(
          file,
          `permissions cannot be saved (${code}); make room or let this user write there; choices made meanwhile end with this run`,
        );
      }
    },

    async forget({ server, tool }) {
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

/** Reads the choices of all projects; undefined when the file cannot be trusted, which is reported. */
async function readChoices(
  file: string,
  clock: Clock,
  report: (file: string, message: string) => void,
): Promise<readonly StoredChoice[] | undefined> {
  const reading = await readPrivateJson(file, { maxBytes, version, schema: fileSchema });
  if ('refusal' in reading) {
    const { refusal } = reading;
    report(file, `the file of permissions ${refusal}; until then every call needs an answer`);
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
