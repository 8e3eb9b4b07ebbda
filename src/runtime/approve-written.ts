import { resolve } from 'node:path';
import { type ReadFile, readSettingsFile } from '../../actors/settings/file.ts';
import { readSettings } from '../../actors/settings/last-good-settings.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { envFileNamesOf } from '../../actors/values/env-file.ts';
import { approvedPathOf } from '../../actors/values/executable-path.ts';
import { specFactsOf } from '../policies/approvals/spec-facts.ts';
import { approvalFingerprint } from '../policies/fingerprint.ts';
import { settingsPortsOf } from './options/settings-ports.ts';
import { realClock } from './real-clock.ts';
import { withEnvFileNames, withExecutables } from './settings-lookups.ts';
import type { TroupeOptions } from './troupe.ts';

/** A text for a settings file. */
export interface WrittenText {
  /** The path under which the file is read. */
  readonly file: string;
  readonly text: string;
}

/** Reads this text in place of its file, and all others from the disk. */
export function readingWritten({ file, text }: WrittenText): ReadFile {
  return (other, within) =>
    other === file ? Promise.resolve({ text }) : readSettingsFile(other, within);
}

/**
 * Approves the server of this name as a text declares it that the user has just written to a file. Whatever the
 * file holds by then, only the server of that text is approved. A running troupe follows the store.
 *
 * @returns whether the decision is saved
 */
export async function approveWritten(
  options: TroupeOptions,
  written: WrittenText,
  server: string,
): Promise<boolean> {
  const { clock = realClock, env = process.env, stateDir } = options;
  const ports = settingsPortsOf(options);
  const { projectRoot } = ports;
  const reading = await readSettings({ ...ports, readFile: readingWritten(written) });
  const withPrograms = await withExecutables(
    reading,
    (spec, within) => approvedPathOf(spec, env, within),
    projectRoot,
  );
  const { settings, specs } = await withEnvFileNames(withPrograms, (spec) =>
    envFileNamesOf(spec, env),
  );
  const desired = settings.servers.find(({ name }) => name === server);
  const isIt = desired?.source.file === written.file && desired.invalid === undefined;
  if (desired === undefined || !isIt || !desired.gated) return false;
  const store = createApprovalStore({
    projectRoot,
    clock,
    stateDir: stateDir === undefined ? undefined : resolve(stateDir),
    onProblems: () => {},
    watch: () => () => {},
  });
  await store.load();
  const spec = specs.get(desired.generation);
  store.add({
    kind: 'decision',
    record: {
      server,
      fingerprint: approvalFingerprint(desired),
      decision: 'granted',
      decidedAt: clock.wallNow(),
      facts: spec === undefined ? [] : specFactsOf(spec, desired),
      pins: [],
    },
  });
  const isSaved = await store.saved();
  await store.close();
  return isSaved;
}
