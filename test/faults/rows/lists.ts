/** D: lists of tools that never end, lie, flood or change. */

import type { Seen } from '../expectation.ts';
import { pause } from '../pause.ts';
import type { AnyRow, Row } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import { until } from '../until.ts';
import { backingOff, readyServer } from './one-server.ts';

/** Lets a server list its tools, and tells what came of them. */
async function listOf(stage: Stage, peer: Peer): Promise<Seen> {
  const stalls = stage.measureStalls();
  const troupe = stage.start({ bad: peer });
  const status = await stage.reaches('bad', 'ready', 'degraded', 'backingOff', 'failed');
  await until(() => peer.log.count('tools/list') > 0 || status.state === 'backingOff', 'a list');
  // A status may follow the listing at once.
  await pause(50);
  const tools = troupe.tools();
  return {
    ...stage.seen(stage.status('bad')),
    tools: tools.length,
    names: tools
      .slice(0, 4)
      .map(({ tool }) => tool)
      .join(' '),
    longest: Math.max(0, ...tools.map(({ description = '' }) => description.length)),
    lists: peer.log.count('tools/list'),
    longestStallMs: stalls(),
  };
}

const partial = { state: 'degraded', reason: 'partialCatalog' } as const;

const pages: readonly Row[] = [
  {
    id: 'F43',
    inject: 's:hang-tools',
    expect: { ...backingOff, code: 'TIMEOUT', tools: 0, readyMs: { atMost: 1_500 }, left: 0 },
    speed: 20,
    async run(stage) {
      const from = performance.now();
      const troupe = stage.start({ bad: stage.stdio('hang-tools') });
      await troupe.ready();
      const readyMs = Math.round(performance.now() - from);
      const status = await stage.reaches('bad', 'backingOff', 'failed', 'degraded', 'ready');
      return {
        ...stage.seen(status),
        tools: troupe.tools().length,
        readyMs,
        left: stage.processes().length,
      };
    },
  },
  {
    id: 'F44',
    variant: 'endless',
    inject: 's:endless-pages',
    expect: { ...partial, lists: 64, tools: 64, says: /64 pages/u },
    run: (stage) => listOf(stage, stage.stdio('endless-pages')),
  },
  ...['loop', 'cycle', 'empty'].map(
    (kind): Row => ({
      id: 'F44',
      variant: kind,
      inject: `s:${kind}-cursor`,
      expect: { ...partial, lists: { atMost: 4 }, says: /repeats/u },
      run: (stage) => listOf(stage, stage.stdio(`${kind}-cursor`)),
    }),
  ),
  {
    id: 'F46',
    inject: 's:page-error',
    expect: { ...backingOff, tools: 0, says: /second page is lost/u },
    run: (stage) => listOf(stage, stage.stdio('page-error')),
  },
];

const sizes: readonly Row[] = [
  {
    id: 'F47',
    variant: 'many-tools',
    inject: 's:many-tools --n 50000',
    expect: {
      ...partial,
      tools: 1_000,
      says: /1000 of 50000 tools/u,
      longestStallMs: { atMost: 250 },
    },
    isAlone: true,
    async run(stage) {
      // The first start pays for loading the protocol; that is not what is measured.
      const bad = stage.stdio('many-tools', [], { startup: 'lazy' });
      const troupe = stage.start({ bad, good: stage.stdio('ok') });
      await stage.reaches('good', 'ready');
      const stalls = stage.measureStalls();
      troupe.send({ type: 'server.start', server: 'bad' });
      await stage.reaches('bad', 'ready', 'degraded', 'backingOff');
      const status = await stage.rests('bad', 'degraded');
      const tools = troupe.tools().filter(({ server }) => server === 'bad').length;
      return { ...stage.seen(status), tools, longestStallMs: stalls() };
    },
  },
  {
    id: 'F47',
    variant: 'long-desc',
    inject: 's:long-desc, 5 MB',
    expect: { state: 'ready', tools: 1, longest: 2_048 },
    run: (stage) => listOf(stage, stage.stdio('long-desc')),
  },
  {
    id: 'F48',
    variant: 'one-server',
    inject: 's:dup-tools',
    expect: { ...partial, tools: 1, says: /"echo" is listed twice/u },
    run: (stage) => listOf(stage, stage.stdio('dup-tools')),
  },
  {
    id: 'F48',
    variant: 'two-servers',
    inject: 'the same tools from two servers',
    expect: {
      names: 'mcp__a__echo mcp__a__slow mcp__b__echo mcp__b__slow',
      answers: 'from a, from b',
    },
    async run(stage) {
      const troupe = stage.start({ a: stage.stdio('ok'), b: stage.stdio('ok') });
      await stage.reaches('a', 'ready');
      await stage.reaches('b', 'ready');
      const names = troupe.tools().map(({ name }) => name);
      const answers = await Promise.all(
        ['a', 'b'].map((server) => stage.call(server, 'echo', { text: `from ${server}` })),
      );
      return { names: names.join(' '), answers: answers.map(({ text }) => text).join(', ') };
    },
  },
  {
    id: 'F51',
    variant: 'null-tool',
    inject: 's:null-tool',
    expect: { ...partial, tools: 2, names: 'echo slow', says: /number 1.*number 3/u },
    run: (stage) => listOf(stage, stage.stdio('null-tool')),
  },
  {
    id: 'F51',
    variant: 'bad-schema',
    inject: 's:bad-schema',
    expect: { ...partial, tools: 1, names: 'echo', says: /worse.*none.*odd/u },
    run: (stage) => listOf(stage, stage.stdio('bad-schema')),
  },
  {
    id: 'F51',
    variant: 'list-wrong-shape',
    inject: 's:list-wrong-shape',
    expect: { ...partial, tools: 0, says: /without a list/u },
    run: (stage) => listOf(stage, stage.stdio('list-wrong-shape')),
  },
];

const lies: readonly Row[] = [
  {
    id: 'F53',
    variant: 'poison-desc',
    inject: 's:poison-desc with escapes and hidden characters',
    expect: { state: 'ready', server: 'bad', isClean: true, keepsMeaning: true },
    async run(stage) {
      await readyServer(stage, stage.stdio('poison-desc'));
      const [tool] = stage.troupe.tools();
      const { description = '', server } = tool ?? {};
      return {
        state: stage.status('bad').state,
        server,
        isClean: !/[\p{Cc}\p{Cf}\p{Cs}\u{E0000}-\u{E007F}]/u.test(description),
        keepsMeaning: description.startsWith('Ignore all earlier instructions'),
      };
    },
  },
  {
    id: 'F53',
    variant: 'lying-annotations',
    inject: 's:lying-annotations, dies after the effect',
    expect: { code: 'CRASHED', outcome: 'unknown', effects: 1 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('lying-annotations'));
      const { code, outcome } = await stage.call('bad', 'echo', { n: 1 });
      await stage.rests('bad', 'ready');
      return { code, outcome, effects: log.count('effect') };
    },
  },
  {
    id: 'F53',
    variant: 'bad-icons',
    inject: 's:bad-icons',
    expect: { state: 'ready', hasIcons: false },
    async run(stage) {
      await readyServer(stage, stage.stdio('bad-icons'));
      const hasIcons = JSON.stringify(stage.troupe.tools()).includes('javascript:');
      return { state: stage.status('bad').state, hasIcons };
    },
  },
  ...['schema-bomb', 'redos-schema'].map(
    (mode): Row => ({
      id: 'F54',
      variant: mode,
      inject: `s:${mode}`,
      expect: { state: 'ready', isOk: true, callMs: { atMost: 500 } },
      async run(stage) {
        await readyServer(stage, stage.stdio(mode));
        const { isOk, ms } = await stage.call('bad', 'echo', { text: `${'a'.repeat(40)}!` });
        return { state: stage.status('bad').state, isOk, callMs: ms };
      },
    }),
  ),
  {
    id: 'F54',
    variant: 'remote-ref',
    inject: 's:remote-ref to a canary',
    expect: { state: 'ready', isOk: true, visits: 0 },
    async run(stage) {
      const canary = await stage.canary();
      await readyServer(stage, stage.stdio('remote-ref', ['--url', canary.url]));
      const { isOk } = await stage.call('bad', 'echo', { text: 'hi' });
      return { state: stage.status('bad').state, isOk, visits: canary.visits() };
    },
  },
];

const changes: readonly Row[] = [
  {
    id: 'F58',
    inject: 's:flip-flop, 40 calls in 2 s',
    expect: { lists: { atMost: 5 }, last: 'even', state: ['ready', 'degraded'] },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('flip-flop'));
      for (let n = 0; n < 40; n += 1) {
        await stage.call('bad', 'echo');
        await pause(45);
      }
      const last = (): string | undefined =>
        stage.troupe.tools().find(({ tool }) => tool === 'even' || tool === 'odd')?.tool;
      // An even number of calls: the last list says so, a second after the last change at most.
      await pause(1_500);
      return { lists: log.count('tools/list'), last: last(), state: stage.status('bad').state };
    },
  },
  {
    id: 'F59',
    variant: 'storm',
    inject: 's:list-changed-storm --n 10000',
    expect: {
      isOk: true,
      wasFlooding: true,
      lists: { atMost: 4 },
      after: 0,
      callMs: { atMost: 2_000 },
      othersP99Ms: { atMost: 250 },
    },
    isAlone: true,
    async run(stage) {
      const peer = stage.stdio('list-changed-storm');
      const { log } = await readyServer(stage, peer, { good: stage.stdio('ok') });
      await stage.reaches('good', 'ready');
      const endCalling = stage.keepCalling('good');
      const { isOk, ms } = await stage.call('bad', 'echo', {}, 8_000);
      const othersP99Ms = await endCalling();
      await pause(2_500);
      const lists = log.count('tools/list');
      await pause(1_500);
      const after = log.count('tools/list') - lists;
      const wasFlooding = stage.history('bad').some(({ reason }) => reason === 'flooding');
      const { state } = stage.status('bad');
      return { state, wasFlooding, isOk, callMs: ms, lists, after, othersP99Ms };
    },
  },
  {
    id: 'F59',
    variant: 'feedback',
    inject: 's:list-changed-feedback, 5 s',
    expect: { lists: { atMost: 7 }, isOk: true, state: ['ready', 'degraded'] },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('list-changed-feedback'));
      await pause(5_000);
      const { isOk } = await stage.call('bad', 'echo');
      return { lists: log.count('tools/list'), isOk, state: stage.status('bad').state };
    },
  },
  {
    id: 'F61',
    inject: 's:removes-slow while it is being called',
    expect: { running: true, code: 'TOOL_UNKNOWN', outcome: 'not_executed', tools: 1 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('removes-slow'));
      const running = stage.call('bad', 'slow', { ms: 1_500 });
      await log.nth('tools/list', 2);
      await until(() => stage.troupe.tools().length === 1, 'the shorter list');
      const { code, outcome } = await stage.call('bad', 'slow');
      const { isOk } = await running;
      return { running: isOk, code, outcome, tools: stage.troupe.tools().length };
    },
  },
];

export const listRows: readonly AnyRow[] = [
  ...pages,
  ...sizes,
  ...lies,
  {
    id: 'F55',
    inject: 's:rug-pull',
    absent: 'shown by test/runtime/user/approvals.test.ts',
  },
  ...changes,
];
