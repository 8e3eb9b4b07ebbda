import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { WatchListener } from '../../../actors/files/watcher.ts';
import type { FileReading } from '../../../actors/settings/file.ts';
import { readSettings, type SettingsFileRef } from '../../../actors/settings/last-good-settings.ts';
import type { Settings } from '../../../src/domain/settings.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { namesOf, serversText, startSettings } from './bench.ts';

const mine: SettingsFileRef = { file: '/me/troupe.json', scope: 'config' };
const project: SettingsFileRef = { file: '/project/.mcp.json', scope: 'project', optional: true };

/** A source on a disk that changes when the test says so, and says so when the test says so. */
function start(
  initial: Readonly<Record<string, FileReading | string>>,
  options: {
    readonly overlay?: Readonly<Record<string, unknown>>;
    readonly isHeld?: boolean;
    readonly folders?: Set<string>;
  } = {},
) {
  const clock = new VirtualClock();
  const disk = new Map(Object.entries(initial));
  const reads: string[] = [];
  const held: (() => void)[] = [];
  let listener: WatchListener | undefined;
  let isWatching = false;
  let isHeld = options.isHeld ?? false;

  const bench = startSettings({
    files: [mine, project],
    projectRoot: '/project',
    clock,
    ...(options.overlay === undefined ? {} : { overlay: options.overlay }),
    checkFolder: async (folder) => ((options.folders?.has(folder) ?? true) ? undefined : 'missing'),
    readFile: async (file) => {
      reads.push(file);
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
      const content = disk.get(file) ?? { missing: true };
      return typeof content === 'string' ? { text: content } : content;
    },
    watch: (_files, changes) => {
      listener = changes;
      isWatching = true;
      return () => {
        isWatching = false;
      };
    },
  });
  onTestFinished(() => bench.stop());

  return {
    ...bench,
    clock,
    reads,
    isWatching: () => isWatching,
    slowed: (message: string) => listener?.slowed(message),
    /** Changes a file and lets the watch say so. */
    write(file: string, content: FileReading | string) {
      disk.set(file, content);
      listener?.changed();
    },
    async advance(ms: number) {
      clock.advanceBy(ms);
      await quiet();
    },
    hold() {
      isHeld = true;
    },
    async release() {
      isHeld = false;
      for (const go of held.splice(0)) go();
      await quiet();
    },
  };
}

/** Lets everything finish that does not wait for the clock or the test. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await turnOver();
}

function turnOver(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('the settings source', () => {
  it('emits its first fact after reading every file once', async () => {
    const source = start(
      { [mine.file]: serversText({ a: 'x' }), [project.file]: serversText({ b: 'y' }) },
      { isHeld: true },
    );
    await quiet();
    expect(source.facts).toEqual([]);

    await source.release();
    expect([...namesOf(await source.next())].sort()).toEqual(['a', 'b']);
    expect(source.facts[0]?.at).toBe(0);
  });

  it('emits nothing after its stop, however many servers it compared before', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => [`s${index}`, 'x']);
    const text = serversText(Object.fromEntries(names));
    const whole = start({ [mine.file]: text });
    let turns = 0;
    for (; whole.facts.length === 0; turns += 1) await turnOver();
    // The last turns are its pauses between reading, comparing and emitting.
    for (const early of [1, 2, 3]) {
      const source = start({ [mine.file]: text });
      for (let turn = early; turn < turns; turn += 1) await turnOver();
      const count = source.facts.length;
      source.leave();
      await quiet();
      expect(source.facts).toHaveLength(count);
    }
  });

  it('reports a missing file unless it is optional', async () => {
    const settings = await start({}).next();
    expect(settings.servers).toEqual([]);
    expect(settings.problems).toEqual([
      { file: mine.file, message: 'the file does not exist; create it or leave it out' },
    ]);
  });

  it('reads an edit once the file has been unchanged for 300 ms', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();

    source.write(mine.file, serversText({ a: 'x', b: 'y' }));
    await source.advance(299);
    source.write(mine.file, serversText({ a: 'x', b: 'y', c: 'z' }));
    await source.advance(299);
    expect(source.facts).toHaveLength(1);

    await source.advance(1);
    expect(namesOf(await source.next())).toEqual(['a', 'b', 'c']);
    expect(source.facts[1]?.at).toBe(599);
  });

  it('reads a constantly changing file after two seconds', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();

    for (let step = 0; step < 9; step += 1) {
      source.write(mine.file, serversText({ a: `x${step}` }));
      await source.advance(200);
    }
    expect(source.facts).toHaveLength(1);
    source.write(mine.file, serversText({ b: 'y' }));
    await source.advance(200);
    expect(namesOf(await source.next())).toEqual(['b']);
    expect(source.facts[1]?.at).toBe(2_000);
  });

  it.each([
    ['a touched file', '{ "mcpServers": { "a": { "command": "x", "args": ["1"] } } }'],
    ['a different layout', '{\n"mcpServers": {\r\n\t"a": {"command":"x","args":["1"]}\n}}'],
    ['a comment', '// mine\n{ "mcpServers": { "a": { "command": "x", "args": ["1"] } } }'],
    ['a different key order', '{ "mcpServers": { "a": { "args": ["1"], "command": "x" } } }'],
    [
      'an explicit default',
      '{ "mcpServers": { "a": { "command": "x", "args": ["1"], "cwd": "." } } }',
    ],
    [
      'empty objects and lists that were absent before',
      '{ "mcpServers": { "a": { "command": "x", "args": ["1"], "env": {}, "tools": {} } }, "mcp": { "excluded": [], "disabledServers": [], "slots": {} } }',
    ],
  ])('emits nothing for %s', async (_what, text) => {
    const source = start({
      [mine.file]: '{ "mcpServers": { "a": { "command": "x", "args": ["1"] } } }',
    });
    await source.next();

    source.write(mine.file, text);
    await source.advance(300);
    expect(source.reads.filter((file) => file === mine.file)).toHaveLength(2);
    expect(source.facts).toHaveLength(1);
  });

  it('reports an edit that applies from the next start, until it is reverted', async () => {
    const source = start({ [mine.file]: '{ "mcp": { "startupGateMs": 400 } }' });
    const first = await source.next();
    source.write(mine.file, '{ "mcp": { "startupGateMs": 500 } }');
    await source.advance(300);
    expect((await source.next()).problems).toMatchObject([{ key: 'mcp.startupGateMs', line: 1 }]);
    source.write(mine.file, '{ "mcp": { "startupGateMs": 400 } }');
    await source.advance(300);
    expect(await source.next()).toEqual(first);
  });

  it('keeps the last good content of a broken file and reports the problem', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    const before = await source.next();

    source.write(mine.file, '{\n"mcpServers": [] }');
    await source.advance(300);
    const broken = await source.next();
    expect(broken.servers).toEqual(before.servers);
    expect(broken.problems).toEqual([
      { file: mine.file, line: 2, key: 'mcpServers', message: expect.stringContaining('write {') },
    ]);

    source.write(mine.file, serversText({ a: 'x' }));
    await source.advance(300);
    expect(await source.next()).toEqual(before);
  });

  it('treats an empty file as broken, not as one without servers', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, '');
    await source.advance(300);
    const settings = await source.next();
    expect(namesOf(settings)).toEqual(['a']);
    expect(settings.problems).toMatchObject([{ file: mine.file, line: 1 }]);
  });

  it('ignores a file that is only briefly empty or broken', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, '');
    await source.advance(50);
    source.write(mine.file, '{ "mcpServers": {');
    await source.advance(50);
    source.write(mine.file, serversText({ a: 'x' }));
    await source.advance(10_000);
    expect(source.facts).toHaveLength(1);
  });

  it('survives a reader that throws', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    // No such reading exists: what becomes of it stands for any mistake of ours.
    source.write(mine.file, 7 as unknown as FileReading);
    await source.advance(300);
    const settings = await source.next();
    expect(namesOf(settings)).toEqual(['a']);
    expect(settings.problems).toMatchObject([
      { file: mine.file, message: expect.stringContaining('please report this') },
    ]);
  });

  it('keeps the last content of an unreadable file', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, { message: 'the file cannot be read (EACCES); let this user read it' });
    await source.advance(300);
    const settings = await source.next();
    expect(namesOf(settings)).toEqual(['a']);
    expect(settings.problems).toMatchObject([{ message: expect.stringContaining('EACCES') }]);
  });

  it('treats a file as deleted two seconds after it vanishes', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }), [project.file]: '{}' });
    await source.next();

    source.write(mine.file, { missing: true });
    await source.advance(300);
    await source.advance(1_999);
    expect(source.facts).toHaveLength(1);
    await source.advance(1);
    const settings = await source.next();
    expect(settings.servers).toEqual([]);
    expect(settings.problems).toMatchObject([{ file: mine.file }]);
  });

  it('emits nothing for a file that returns within two seconds', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, { missing: true });
    await source.advance(1_500);
    source.write(mine.file, serversText({ a: 'x' }));
    await source.advance(10_000);
    expect(source.facts).toHaveLength(1);
  });

  it('restarts the grace period when a file vanishes again', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, { missing: true });
    await source.advance(2_000);
    source.write(mine.file, serversText({ a: 'x' }));
    await source.advance(300);
    source.write(mine.file, { missing: true });
    await source.advance(300);
    await source.advance(1_999);
    expect(source.facts).toHaveLength(1);
    await source.advance(1);
    expect((await source.next()).servers).toEqual([]);
  });

  it('reads immediately on a reload', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, serversText({ b: 'y' }));
    source.send({ type: 'settings.reload' });
    await quiet();
    expect(namesOf(await source.next())).toEqual(['b']);
    expect(source.facts[1]?.at).toBe(0);
  });

  it('reads once more, however many signals arrive during a read', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.hold();
    for (let count = 0; count < 100; count += 1) source.send({ type: 'settings.reload' });
    await source.release();
    expect(source.reads.filter((file) => file === mine.file)).toHaveLength(1 + 2);
  });

  it("reads at most four times a second, and the host's last settings win", async () => {
    const source = start({ [mine.file]: '{}' });
    await source.next();
    for (let count = 0; count < 300; count += 1) {
      const settings = { mcpServers: { [`a${count}`]: { command: 'x' } } };
      source.send({ type: 'settings.changed', settings });
      await source.advance(10);
    }
    await source.advance(1_000);
    expect(namesOf(source.facts.at(-1)?.settings as Settings)).toEqual(['a299']);
    const times = source.facts.map(({ at }) => at);
    for (const [index, at] of times.entries())
      expect((times[index + 4] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(1_000);
    // Four in each of the three seconds, but for what the first one had read before.
    expect(times.length).toBeGreaterThan(8);
    expect(source.clock.pendingCount).toBe(0);
  });

  const hostSettings = (count: number) => ({ mcpServers: { [`a${count}`]: { command: 'x' } } });

  it('uses the last of a hundred host settings in one burst', async () => {
    const source = start({ [mine.file]: '{}' });
    await source.next();
    for (let count = 0; count < 100; count += 1)
      source.send({ type: 'settings.changed', settings: hostSettings(count) });
    expect(namesOf(await source.next())).toEqual(['a99']);
    await source.advance(10_000);
    expect(source.facts).toHaveLength(2);
    expect(source.reads.filter((file) => file === mine.file)).toHaveLength(1 + 2);
  });

  it('uses the last host settings received before its first fact', async () => {
    const source = start({ [mine.file]: '{}' }, { isHeld: true });
    await quiet();
    for (let count = 0; count < 5; count += 1)
      source.send({ type: 'settings.changed', settings: hostSettings(count) });
    expect(source.facts).toEqual([]);
    await source.release();
    for (let count = 5; count < 100; count += 1)
      source.send({ type: 'settings.changed', settings: hostSettings(count) });
    await source.advance(10_000);
    expect(namesOf(source.facts.at(-1)?.settings as Settings)).toEqual(['a99']);
  });

  it("ranks the host's settings above all files and replaces them on request", async () => {
    const source = start(
      { [mine.file]: serversText({ a: 'x' }) },
      { overlay: { mcpServers: { a: { url: 'https://host/' } }, mcp: { excluded: ['a'] } } },
    );
    const first = await source.next();
    expect(first.servers).toMatchObject([{ transport: 'http', source: { scope: 'api' } }]);
    expect(first.excluded).toEqual(['a']);

    source.send({ type: 'settings.changed', settings: {} });
    const second = await source.next();
    expect(second.servers).toMatchObject([{ transport: 'stdio', source: { file: mine.file } }]);
    expect(second.excluded).toEqual([]);
  });

  it.each<[what: string, settings: Record<string, unknown>]>([
    ['malformed', { mcpServers: [] }],
    ['not plain data', { mcpServers: { a: 1n } }],
    ['a number that JSON lacks', { mcpServers: { a: { command: 'y', idleStopMs: Infinity } } }],
    ['a map', { mcpServers: { a: { command: 'y', env: new Map([['A', '1']]) } } }],
  ])("keeps the host's last settings when the new ones are %s", async (_what, settings) => {
    const overlay = { mcpServers: { a: { command: 'x' } } };
    const source = start({ [mine.file]: '{}' }, { overlay });
    await source.next();
    source.send({ type: 'settings.changed', settings });
    const after = await source.next();
    expect(namesOf(after)).toEqual(['a']);
    expect(after.problems).toMatchObject([{ file: 'host settings' }]);
    expect(after.problems[0]).not.toHaveProperty('line');
  });

  it('refuses a server whose folder is missing until a reload finds it', async () => {
    const folders = new Set<string>();
    const text = '{ "mcpServers": {\n"a": { "command": "x", "cwd": "data" } } }';
    const source = start({ [mine.file]: text }, { folders });
    const [server] = (await source.next()).servers;
    expect(server?.invalid).toMatchObject({ line: 2, key: 'mcpServers.a.cwd' });

    folders.add('/me/data');
    source.send({ type: 'settings.reload' });
    const [fixed] = (await source.next()).servers;
    expect(fixed?.invalid).toBeUndefined();
    expect(source.book.specOf(fixed?.generation ?? '')).toMatchObject({ cwd: '/me/data' });
  });

  it('reports polling when the system has no watches left', async () => {
    const source = start({ [mine.file]: '{}' });
    await source.next();
    source.slowed('settings are polled once a second');
    await source.advance(300);
    expect((await source.next()).problems).toEqual([
      { file: mine.file, message: 'settings are polled once a second' },
    ]);
  });

  it('emits nothing and leaves no timer or watch after it is stopped', async () => {
    const source = start({ [mine.file]: serversText({ a: 'x' }) });
    await source.next();
    source.write(mine.file, { missing: true });
    await source.advance(300);
    source.hold();
    source.send({ type: 'settings.reload' });
    source.write(mine.file, serversText({ b: 'y' }));

    source.stop();
    expect(source.clock.pendingCount).toBe(0);
    expect(source.isWatching()).toBe(false);
    await source.release();
    source.write(mine.file, serversText({ c: 'z' }));
    source.send({ type: 'settings.changed', settings: {} });
    await source.advance(60_000);
    expect(source.facts).toHaveLength(1);
  });
});

/** The same document with its keys in another order, at every depth. */
function reordered(value: unknown, keyOf: (name: string) => number): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, keyOf));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([name, inner]) => [name, reordered(inner, keyOf)] as const,
  );
  return Object.fromEntries(entries.sort(([one], [other]) => keyOf(one) - keyOf(other)));
}

const richServer = {
  command: 'x',
  args: ['1', '2'],
  env: { A: '1', B: '2' },
  description: 'One.',
  timeoutMs: 1_000,
  tools: { include: ['a*', 'b*'], exclude: ['c'] },
};
const richSettings = {
  mcpServers: { db: richServer },
  mcp: { excluded: ['x', 'y'], slots: { local: 2, remote: 5 } },
};

describe('comparing settings', () => {
  it('ignores key order, layout, comments and foreign keys', () => {
    const formatting = fc.record({
      seed: fc.integer({ min: 1, max: 1_000 }),
      indent: fc.constantFrom(0, 2, '\t'),
      others: fc.dictionary(fc.constantFrom('theme', 'editor', 'fontSize'), fc.jsonValue()),
      comment: fc.constantFrom('', '// mine\n', '/* theirs */ '),
    });
    return fc.assert(
      fc.asyncProperty(formatting, async ({ seed, indent, others, comment }) => {
        const source = start({ [mine.file]: JSON.stringify(richSettings) });
        await source.next();
        const keyOf = (name: string): number => (name.charCodeAt(0) * seed * 31) % 97;
        const text = JSON.stringify(reordered({ ...others, ...richSettings }, keyOf), null, indent);
        source.write(mine.file, comment + text);
        await source.advance(300);
        // The order of servers is their own, and there is only one.
        expect(source.facts).toHaveLength(1);
        source.stop();
      }),
      { numRuns: 50 },
    );
  });

  it.each<[what: string, server: object, mcp?: object]>([
    ['the argument order', { args: ['2', '1'] }],
    ['an argument', { args: ['1'] }],
    ['a variable', { env: { A: '1', B: '3' } }],
    ['a description', { description: 'Two.' }],
    ['a deadline', { timeoutMs: 2_000 }],
    ['a tool filter', { tools: { include: ['a*'], exclude: ['c'] } }],
    ['the enabled flag', { enabled: false }],
    ['the excluded list', {}, { excluded: ['x'] }],
    ['the allow-list from absent to empty', {}, { allowed: [] }],
    ['slots', {}, { slots: { local: 3, remote: 5 } }],
  ])('emits one fact for a change to %s', async (_what, server, mcp = {}) => {
    const source = start({ [mine.file]: JSON.stringify(richSettings) });
    await source.next();
    const changed = {
      mcpServers: { db: { ...richServer, ...server } },
      mcp: { ...richSettings.mcp, ...mcp },
    };
    source.write(mine.file, JSON.stringify(changed));
    source.write(mine.file, JSON.stringify(changed));
    await source.advance(10_000);
    expect(source.facts).toHaveLength(2);
  });

  it.each<[what: string, mcp: object]>([
    ['a different list order', { excluded: ['y', 'x'] }],
    ['a duplicate name', { excluded: ['x', 'y', 'x'] }],
  ])('emits nothing for %s', async (_what, mcp) => {
    const source = start({ [mine.file]: JSON.stringify(richSettings) });
    await source.next();
    const same = { ...richSettings, mcp: { ...richSettings.mcp, ...mcp } };
    source.write(mine.file, JSON.stringify(same));
    await source.advance(300);
    expect(source.facts).toHaveLength(1);
  });
});

describe('reading the settings once', () => {
  it('returns settings and specs without watching files', async () => {
    const { settings, specs } = await readSettings({
      files: [mine, project],
      projectRoot: '/project',
      readFile: async (file) =>
        file === mine.file ? { text: serversText({ a: 'x' }) } : { missing: true },
    });
    expect(namesOf(settings)).toEqual(['a']);
    expect(settings.problems).toEqual([]);
    expect([...specs.values()]).toMatchObject([{ command: 'x', cwd: '/me' }]);
  });
});
