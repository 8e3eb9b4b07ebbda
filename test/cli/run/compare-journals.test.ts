import { createWriteStream, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import type { InspectionSource } from '../../../src/domain/host/inspection.ts';
import { journalOf } from '../../../src/recorder/journal.ts';
import { createScriptedTroupe } from '../../../src/testing/index.ts';
import { compareJournals } from '../../../visualizations/server/compare.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

type Script = ReturnType<typeof createScriptedTroupe>;

interface Run {
  /** Servers in the order in which they open. */
  readonly order?: readonly string[];
  readonly seed?: number;
  readonly pid?: number;
  readonly last?: (script: Script) => Promise<void> | void;
}

/** Lives with two servers, and saves the journal. */
async function journal(
  folder: string,
  name: string,
  { order = ['db', 'web'], seed = 1, pid = 7, last }: Run = {},
): Promise<string> {
  const script = createScriptedTroupe({
    seed,
    settings: { mcpServers: { db: { command: 'db' }, web: { command: 'web' } } },
  });
  const { troupe, sessions } = script;
  troupe.inspection.start();
  await script.settle();
  for (const server of order) {
    sessions.of(server).open({ era: 'modern', pid });
    await script.advance(pid);
    sessions.of(server).list([]);
    await script.settle();
  }
  await script.advance(1_000);
  await last?.(script);
  const file = path.join(folder, name);
  await write(file, troupe.inspection);
  await Promise.all([troupe.stop(), script.advance(10_000)]);
  return file;
}

async function write(file: string, source: InspectionSource): Promise<void> {
  const stream = createWriteStream(file);
  for (const piece of journalOf(source)) stream.write(piece);
  stream.end();
  await finished(stream);
}

const crash = async (script: Script): Promise<void> => {
  script.sessions.of('db').fail({ kind: 'crashed', message: 'It crashed.' });
  await script.settle();
};

describe('two journals', () => {
  it('are equal whatever the times, the pids, the seed and the order between servers', async () => {
    const folder = temporaryFolder();
    const a = await journal(folder, 'a.ndjson');
    const b = await journal(folder, 'b.ndjson', { order: ['web', 'db'], seed: 9, pid: 4_711 });
    const { difference, records } = await compareJournals(a, b);
    expect(difference).toBeUndefined();
    expect(records.a).toBeGreaterThan(50);
  });

  it('differ at the first record that only one of them has', async () => {
    const folder = temporaryFolder();
    const a = await journal(folder, 'a.ndjson', { last: crash });
    const b = await journal(folder, 'b.ndjson', {
      last: async (script) => {
        script.sessions.of('db').fail({ kind: 'authRequired', message: 'It wants a login.' });
        await script.settle();
      },
    });
    const { difference } = await compareJournals(a, b);
    expect(difference).toMatchObject({
      server: 'db',
      a: { text: expect.stringContaining('failure=crashed') },
      b: { text: expect.stringContaining('failure=authRequired') },
    });
    const c = await journal(folder, 'c.ndjson');
    expect((await compareJournals(a, c)).difference).toMatchObject({ server: 'db', a: {} });
    const longer = (await compareJournals(c, a)).difference;
    expect(longer).toMatchObject({ server: 'db', before: {}, b: { n: expect.any(Number) } });
    expect(longer?.a).toBeUndefined();
  });

  it('differ by the actor that does nothing in one of them, within a bound', async () => {
    const folder = temporaryFolder();
    const a = await journal(folder, 'a.ndjson');
    const b = await journal(folder, 'b.ndjson', { order: ['web'] });
    expect((await compareJournals(a, b, 5)).difference).toMatchObject({ within: 5 });
    const { difference } = await compareJournals(a, b);
    expect(difference).toMatchObject({ server: 'db', a: { n: expect.any(Number) } });
    expect(difference?.b).toBeUndefined();
  });

  it('are refused soon when one is a huge file without line breaks', async () => {
    const file = path.join(temporaryFolder(), 'huge');
    writeFileSync(file, '');
    truncateSync(file, 80_000_000);
    const before = process.cpuUsage();
    await expect(compareJournals(file, file)).rejects.toThrow('has a line of more than 64 MB');
    // Under a second; twenty when each chunk is joined with all before it.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000_000).toBeLessThan(5);
  });

  it('are compared by troupe replay, which exits with 1 for a difference', async () => {
    const folder = temporaryFolder();
    const a = await journal(folder, 'a.ndjson');
    const b = await journal(folder, 'b.ndjson', { last: crash });
    const same = await runCliHere(['replay', 'a.ndjson', '--compare', a], { folder });
    expect(same).toMatchObject({ exitCode: 0 });
    expect(same.stdout).toMatch(/^equal: \d+ and \d+ records\n$/u);
    const { exitCode, stdout } = await runCliHere(['replay', a, '--compare', b], { folder });
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(
      /^first difference: db\/session\n {2}both: .*\n {2}a\.ndjson: nothing more\n {2}b\.ndjson: gets wire\.ended /u,
    );
    const json = await runCliHere(['replay', a, '--compare', b, '--json'], { folder });
    expect(JSON.parse(json.stdout)).toMatchObject({ equal: false, difference: { server: 'db' } });
    const wrong = await runCliHere(['replay', a, '--compare', 'no.ndjson'], { folder });
    expect(wrong).toMatchObject({ exitCode: 2 });
    expect(wrong.stderr).toContain('no.ndjson: file does not exist');
  });
});
