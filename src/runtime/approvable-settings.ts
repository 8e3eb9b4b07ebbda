/** Reads what approvals are about, for commands that start nothing. */

import { resolve } from 'node:path';
import { readSettings } from '../../actors/settings/last-good-settings.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { envFileNamesOf } from '../../actors/values/env-file.ts';
import { approvedPathOf } from '../../actors/values/executable-path.ts';
import { realClock } from './real-clock.ts';
import { withEnvFileNames, withExecutables } from './settings-lookups.ts';
import type { TroupeOptions } from './troupe.ts';

/** Reads the settings, with the programs of commands and the names in files of variables. */
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
  const { settings, specs } = await withEnvFileNames(withPrograms, (spec) =>
    envFileNamesOf(spec, env, ports.projectRoot),
  );
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
