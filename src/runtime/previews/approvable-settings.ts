/** Reads what approvals are about, for commands that start nothing. */

import { resolve } from 'node:path';
import { readSettings } from '../../../actors/settings/last-good-settings.ts';
import { createApprovalStore } from '../../../actors/stores/approvals.ts';
import { envFileNamesOf } from '../../../actors/values/env-file.ts';
import { approvedPathOf } from '../../../actors/values/executable-path.ts';
import { createFolderLookup } from '../../../actors/values/folder-files.ts';
import { realClock } from '../real-clock.ts';
import { withEnvFileNames, withExecutables, withFolderFiles } from '../settings-lookups.ts';
import type { TroupeOptions } from '../troupe.ts';

/** Reads the settings, with the programs of commands, the names in files of variables, and the files that package runners read. */
export async function approvableSettings(
  ports: Parameters<typeof readSettings>[0],
  { env = process.env }: TroupeOptions,
) {
  const reading = await readSettings(ports);
  const withPrograms = await withExecutables(
    reading,
    (spec, within) => approvedPathOf(spec, env, within),
    ports.projectRoot,
  );
  const withNames = await withEnvFileNames(withPrograms, (spec) =>
    envFileNamesOf(spec, env, ports.projectRoot),
  );
  const lookup = createFolderLookup(env);
  const { settings, specs } = await withFolderFiles(withNames, lookup, ports.projectRoot);
  return { reading, settings, specs };
}

/** Loads the stored decisions. */
export async function storedApprovals(
  { clock = realClock, stateDir }: TroupeOptions,
  projectRoot: string,
) {
  const store = createApprovalStore({
    projectRoot,
    clock,
    stateDir: stateDir === undefined ? undefined : resolve(stateDir),
    onProblems: () => {},
    watch: () => () => {},
  });
  await store.load();
  return store;
}
