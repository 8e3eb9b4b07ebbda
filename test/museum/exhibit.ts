/** What the rooms of the museum share. README.md explains it, and lists all exhibits. */

import { it, onTestFinished } from 'vitest';

import { createTroupe, type Troupe, type TroupeOptions } from '../../src/index.ts';
import { type ScriptedHttp, startScriptedHttp } from '../fixtures/remote/scripted-http.ts';

/**
 * Registers a test that replays a public bug report of another program.
 *
 * `scripts/docs/museum-table.ts` reads the first three arguments from the source, so they are plain
 * texts.
 *
 * @param threads - where it was reported
 * @param saw - what its users saw there
 * @param here - what mcp-troupe does instead; the test's name
 */
export function exhibit(
  threads: string | readonly string[],
  saw: string,
  here: string,
  story: () => Promise<void>,
): void {
  // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect
  it(here, async ({ annotate }) => {
    // Printed beside a failure.
    await annotate(`${[threads].flat().join(', ')}: ${saw}`);
    await story();
  });
}

/** A troupe that stops when the test ends. */
export function troupeOf(
  mcpServers: Readonly<Record<string, object>>,
  options: TroupeOptions = {},
): Troupe {
  const troupe = createTroupe({ bare: true, seed: 1, settings: { mcpServers }, ...options });
  onTestFinished(() => troupe.stop());
  return troupe;
}

/** A scripted server over HTTP that closes when the test ends. */
export async function peerOf(
  ...script: Partial<Parameters<typeof startScriptedHttp>>
): Promise<ScriptedHttp> {
  const [answers = () => undefined, others] = script;
  const peer = await startScriptedHttp(answers, others);
  onTestFinished(() => peer.close());
  return peer;
}
