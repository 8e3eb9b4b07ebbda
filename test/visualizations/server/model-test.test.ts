import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { InspectionSource } from '../../../src/domain/host/inspection.ts';
import * as testing from '../../../src/testing/index.ts';
import { modelTestOf } from '../../../visualizations/server/model-test.ts';
import { openJournal } from '../../../visualizations/server/replay-source.ts';
import { Random } from '../../runtime/simulation/random.ts';
import { runExported } from './exported-test.ts';

type Script = ReturnType<typeof testing.createScriptedTroupe>;

const commands = ['server.start', 'server.stop', 'server.restart', 'server.reconnect'] as const;
const kinds = ['crashed', 'transport', 'cleanExit', 'unavailable'] as const;

async function live(seed: number): Promise<Script> {
  const random = new Random(seed);
  const script = testing.createScriptedTroupe({
    seed,
    settings: {
      mcpServers: {
        db: random.isTrue(0.5)
          ? { command: 'db', policy: { restart: { maxAttempts: 2 } } }
          : { url: 'http://localhost/db' },
      },
    },
  });
  const { sessions, troupe } = script;
  sessions.onCommand = (session, { type }) => {
    if (type === 'session.close' && session.state === 'closing') session.closed();
  };
  troupe.inspection.start();
  await script.settle();
  for (let turn = 0; turn < 12; turn += 1) {
    const session = sessions.scripts.at(-1);
    if (session?.state === 'opening' && random.isTrue(0.7)) session.open({ era: 'modern' });
    else if (session?.state === 'open' && random.isTrue(0.75)) {
      if (random.isTrue(0.6)) session.list([]);
      else session.fail({ kind: random.pick(kinds), message: 'It is lost.' });
    } else if (random.isTrue(0.2)) troupe.send({ type: random.pick(commands), server: 'db' });
    else await script.advance(random.pick([10, 300, 3_000]));
    await script.settle();
  }
  return script;
}

const ends = ({ first, last, startedAt, clockStart, version, machines }: InspectionSource) => ({
  first,
  last,
  startedAt,
  clockStart,
  version,
  machines,
});

describe("a test exported from a server's records", () => {
  const seeds = Array.from({ length: 40 }, (_, seed) => seed + 1);

  it.each(seeds)('brings another server to the same state: seed %d', async (seed) => {
    const script = await live(seed);
    const { troupe } = script;
    const { inspection } = troupe;
    const actor = inspection.picture()?.actors.find(({ server }) => server === 'db');
    const status = troupe.status('db');
    const text = modelTestOf(inspection, actor?.actor ?? '', inspection.last);
    await Promise.all([troupe.stop(), script.advance(10_000)]);
    expect(await runExported(text), text).toBe(
      `leads db to ${status?.state}${status?.reason === undefined ? '' : ` (${status.reason})`}`,
    );
  });

  it.each(['\n', '\r', '\u2028', '\u2029'])(
    'contains no code injected through untrusted records: %j',
    async (end) => {
      const { troupe } = await live(1);
      const { inspection } = troupe;
      const actor = inspection.picture()?.actors.find(({ server }) => server === 'db')?.actor ?? '';
      const type = `made.up${end}throw new Error('it ran'); //`;
      const forged = {
        ...ends(inspection),
        records: (from: number, limit: number) =>
          inspection
            .records(from, limit)
            .map((each) => (each.kind === 'event' && each.to === actor ? { ...each, type } : each)),
        picture: (at?: number) => inspection.picture(at),
        context: (key: string, at?: number) => inspection.context(key, at),
        follow: () => () => undefined,
      };
      const text = modelTestOf(forged, actor, inspection.last);
      const file = ts.createSourceFile('a.ts', text, ts.ScriptTarget.ES2023);
      const thrown: ts.Node[] = [];
      const visit = (node: ts.Node): void => {
        if (ts.isThrowStatement(node) && node.getText(file).includes('it ran')) thrown.push(node);
        ts.forEachChild(node, visit);
      };
      visit(file);
      expect(text).toContain('made.up');
      expect(thrown).toEqual([]);
    },
  );

  // The last three are what every object inherits.
  it.each([
    ...['session.opened', 'xstate.done.actor.session', 'session.listFailed', 'session.impaired'],
    ...['server.demanded', 'session.listed', 'constructor', '__proto__', 'toString'],
  ])('contains only its own statements for a journal with the event %s', async (type) => {
    const evil = "0;});require('node:child_process').execSync('touch pwned');(async()=>{//\u2028";
    const facts = Object.fromEntries(
      ['era', 'toolCount', 'failure', 'answer', 'reason'].map((name) => [name, evil]),
    );
    const file = journalFile(
      { ...status, state: evil, reason: evil, catalog: evil },
      { kind: 'event', n: 1, t: 1, to: 'x:4', type, facts },
    );
    const text = modelTestOf(await openJournal(file), 'x:4', 1);
    expect(text).toContain('pwned');
    const parsed = ts.createSourceFile('a.ts', text, ts.ScriptTarget.ES2023);
    const named = new Set<string>();
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node)) named.add(node.text);
      ts.forEachChild(node, visit);
    };
    visit(parsed);
    expect([...named].filter((name) => foreign.includes(name))).toEqual([]);
    expect(parsed.statements).toHaveLength(3);
  });

  it('is refused for a journal with an invalid server name', async () => {
    const name = "0;});require('node:child_process').execSync('touch pwned');(async()=>{//";
    const file = journalFile({ ...status, name }, { kind: 'gone', n: 1, t: 1, server: 'db' });
    await expect(openJournal(file)).rejects.toMatchObject({ code: 'USAGE' });
    for (const record of [
      { kind: 'status', status: { ...status, name } },
      { kind: 'gone', server: '__proto__' },
      { kind: 'actor', actor: 'x:5', id: 'a', server: name },
      {
        kind: 'reconciled',
        plan: [{ step: 'keep', server: name, why: '' }],
        durationMs: 1,
        troupe: {},
      },
    ]) {
      const other = journalFile(status, { ...record, n: 1, t: 1 });
      await expect(openJournal(other)).rejects.toMatchObject({ message: /:2 is no record/u });
    }
  });
});

const foreign = ['require', 'execSync', 'pwned', 'process', 'eval', 'Function'];

const status = {
  ...{ name: 'db', state: 'ready', catalog: 'live', circuit: 'closed', since: 'x' },
  ...{ generation: 'g', transport: 'stdio', source: {} },
};

/** A journal with one server and one record, written by hand. */
function journalFile(
  server: typeof status & Readonly<Record<string, unknown>>,
  record: object,
): string {
  const picture = {
    n: 0,
    t: 0,
    actors: [{ actor: 'x:4', id: 'a.0', life: 'active', leaves: [], timers: [], server: 'db' }],
    servers: [server],
  };
  const head = {
    ...{ kind: 'journal', format: 1, version: '1', startedAt: '2026-01-01T00:00:00.000Z' },
    ...{ clockStart: 0, machines: {}, contexts: {}, picture },
  };
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-journal-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'a.ndjson');
  writeFileSync(file, `${JSON.stringify(head)}\n${JSON.stringify(record)}\n`);
  return file;
}
