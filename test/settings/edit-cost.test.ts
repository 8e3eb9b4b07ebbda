import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import { serverEntrySchema } from '../../src/settings/entry/schema.ts';
import { EntryTexts } from '../../src/settings/incremental-parse.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettingsFile, SettingsMemory } from '../../src/settings/parse-settings.ts';

const hashes: { digest: () => unknown } = Object.getPrototypeOf(createHash('sha256'));

afterEach(() => void vi.restoreAllMocks());

const count = 1_000;
const entry = (args: readonly string[]) => ({
  command: 'npx',
  args: ['-y', ...args],
  env: { TOKEN: '${TOKEN}' },
});
const textOf = (edited: number | undefined, indent?: number): string =>
  JSON.stringify(
    {
      mcpServers: Object.fromEntries(
        Array.from({ length: count }, (_, at) => [
          `s${at}`,
          entry([`@my-org/s${at}`, ...(at === edited ? ['more'] : [])]),
        ]),
      ),
    },
    null,
    indent,
  );

/** Reads both texts, and counts the work of the second reading. */
async function costOf(first: string, second: string, file = '/home/me/troupe.json') {
  const origin = { file, scope: 'user', projectRoot: '/project' } as const;
  const memory = new SettingsMemory();
  const read = async (text: string): Promise<void> => {
    const parsed = await parseSettingsFile(text, origin, { memory, pause: async () => {} });
    for (const desired of mergeSettings([parsed]).settings.servers) settingsDigestOf(desired);
  };
  await read(first);
  const validate = vi.spyOn(serverEntrySchema, 'safeParse');
  const hash = vi.spyOn(hashes, 'digest');
  const find = vi.spyOn(EntryTexts.prototype, 'get');
  await read(second);
  const unknown = find.mock.calls.filter((_, at) => find.mock.results[at]?.value === undefined);
  return {
    validations: validate.mock.calls.length,
    hashes: hash.mock.calls.length,
    lookedUp: find.mock.calls.length,
    parsed: unknown.reduce((sum, [text]) => sum + text.length, 0),
  };
}

describe('an edit of one of a thousand servers', () => {
  it('parses, validates and hashes one entry', async () => {
    const cost = await costOf(textOf(undefined), textOf(7));
    expect(cost).toMatchObject({ validations: 1, hashes: 1, lookedUp: 1 });
    expect(cost.parsed).toBeLessThan(200);
  });

  it('costs the same when it moves all servers below it', async () => {
    const cost = await costOf(textOf(undefined, 2), textOf(7, 2));
    expect(cost).toMatchObject({ validations: 1, hashes: 1 });
    expect(cost.parsed).toBeLessThan(300);
  });

  it('costs the same in a file that several programs share', async () => {
    const cost = await costOf(textOf(undefined, 2), textOf(7, 2), '/home/me/servers.json');
    expect(cost).toMatchObject({ validations: 1, hashes: 1 });
    expect(cost.parsed).toBeLessThan(300);
  });

  it('parses nothing when only a comment is added above them', async () => {
    const text = textOf(7, 2);
    const cost = await costOf(text, text.replace('{', '{ // a comment\n\n'));
    expect(cost).toMatchObject({ validations: 0, hashes: 0, parsed: 0 });
  });

  it('validates and hashes one entry in TOML', async () => {
    const toml = (edited?: number): string =>
      Array.from(
        { length: count },
        (_, at) =>
          `[mcp_servers.s${at}]\n${at === edited ? '\n' : ''}command = "x${at === edited ? 'y' : at}"\n`,
      ).join('');
    const cost = await costOf(toml(), toml(7), '/home/me/.codex/config.toml');
    expect(cost).toMatchObject({ validations: 1, hashes: 1 });
  });
});
