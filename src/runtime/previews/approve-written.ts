import { type ReadFile, readSettingsFile } from '../../../actors/settings/file.ts';
import { specFactsOf } from '../../policies/approvals/spec-facts.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import { settingsPortsOf } from '../options/settings-ports.ts';
import { realClock } from '../real-clock.ts';
import type { TroupeOptions } from '../troupe.ts';
import { approvableSettings, storedApprovals } from './approvable-settings.ts';

/** A text for a settings file. */
export interface WrittenText {
  /** The path under which the file is read. */
  readonly file: string;
  readonly text: string;
}

/** Reads this content in place of its file, and all others from the disk. */
export function readingWritten({ file, text }: WrittenText): ReadFile {
  return (other, within) =>
    other === file ? Promise.resolve({ text }) : readSettingsFile(other, within);
}

/**
 * Approves servers as declared in a document that the user has just written to a file. Whatever the file holds by
 * then, only the servers of that text are approved. A running troupe follows the store.
 *
 * @returns whether every server is approved and the decisions are saved
 */
export async function approveWritten(
  options: TroupeOptions,
  written: WrittenText,
  servers: readonly string[],
): Promise<boolean> {
  const { clock = realClock } = options;
  const ports = { ...settingsPortsOf(options), readFile: readingWritten(written) };
  const { settings, specs } = await approvableSettings(ports, options);
  const chosen = settings.servers.filter(
    ({ name, source, invalid, gated }) =>
      servers.includes(name) && source.file === written.file && invalid === undefined && gated,
  );
  const store = await storedApprovals(options, ports.projectRoot);
  for (const desired of chosen) {
    const spec = specs.get(desired.generation);
    store.add({
      kind: 'decision',
      record: {
        server: desired.name,
        fingerprint: approvalFingerprint(desired),
        decision: 'granted',
        decidedAt: clock.wallNow(),
        facts: spec === undefined ? [] : specFactsOf(spec, desired),
        pins: [],
      },
    });
  }
  const isSaved = await store.saved();
  await store.close();
  return isSaved && chosen.length === servers.length;
}
