/** D: lists of tools that are endless, wrong, huge or changing. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Expectation } from '../expectation.ts';
import { eachOf, type Row, type Rows } from '../row.ts';
import { until } from '../until.ts';
import { backingOff, besideCalls, called, faultIn, readyServer } from './one-server.ts';

/** A row that lists the tools of the server it describes. */
function listed(inject: string, expect: Expectation): Row {
  const { mode, args } = faultIn(inject);
  return {
    inject,
    expect,
    async run(stage) {
      const peer = stage.stdio(mode, args);
      const troupe = stage.start({ bad: peer });
      const { state } = await stage.reaches('bad', 'ready', 'degraded', 'backingOff', 'failed');
      await until(() => peer.log.count('tools/list') > 0 || state === 'backingOff', 'a list');
      // A new status may immediately follow the list.
      await pause(50);
      const tools = troupe.tools();
      const names = tools.slice(0, 4).map(({ tool }) => tool);
      return {
        ...stage.seen(stage.status('bad')),
        tools: tools.length,
        names: names.join(' '),
        longest: Math.max(0, ...tools.map(({ description = '' }) => description.length)),
        lists: peer.log.count('tools/list'),
      };
    },
  };
}

const partial = { state: 'degraded', reason: 'partialCatalog' } as const;

const pages: Rows = {
  F43: {
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
  'F44/endless': listed('s:endless-pages', { ...partial, lists: 64, tools: 64, says: /64 pages/u }),
  ...eachOf(['loop', 'cycle', 'empty'], (kind) => [
    `F44/${kind}`,
    listed(`s:${kind}-cursor`, { ...partial, lists: { atMost: 4 }, says: /repeats/u }),
  ]),
  F46: listed('s:page-error', { ...backingOff, tools: 0, says: /second page is lost/u }),
};

const sizes: Rows = {
  'F47/many-tools': {
    inject: 's:many-tools --n 50000',
    expect: {
      ...partial,
      tools: 1_000,
      says: /1000 of 50000 tools/u,
      longestStallMs: { atMost: 250 },
    },
    isAlone: true,
    async run(stage) {
      // The first start loads the protocol, which is not measured here.
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
  'F47/long-desc': listed('s:long-desc, 5 MB', { state: 'ready', tools: 1, longest: 2_048 }),
  'F48/one-server': listed('s:dup-tools', {
    ...partial,
    tools: 1,
    says: /"echo" is listed twice/u,
  }),
  'F48/two-servers': {
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
  'F51/null-tool': listed('s:null-tool', {
    ...partial,
    tools: 2,
    names: 'echo slow',
    says: /number 1.*number 3/u,
  }),
  'F51/bad-schema': listed('s:bad-schema', {
    ...partial,
    tools: 1,
    names: 'echo',
    says: /worse.*none.*odd/u,
  }),
  'F51/list-wrong-shape': listed('s:list-wrong-shape', {
    ...partial,
    tools: 0,
    says: /without a list/u,
  }),
};

const lies: Rows = {
  'F53/poison-desc': {
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
  'F53/lying-annotations': {
    inject: 's:lying-annotations, dies after the effect',
    expect: { code: 'CRASHED', outcome: 'unknown', effects: 1 },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('lying-annotations'));
      const { code, outcome } = await stage.call('bad', 'echo', { n: 1 });
      await stage.rests('bad', 'ready');
      return { code, outcome, effects: log.count('effect') };
    },
  },
  'F53/bad-icons': {
    inject: 's:bad-icons',
    expect: { state: 'ready', hasIcons: false },
    async run(stage) {
      await readyServer(stage, stage.stdio('bad-icons'));
      const hasIcons = JSON.stringify(stage.troupe.tools()).includes('javascript:');
      return { state: stage.status('bad').state, hasIcons };
    },
  },
  ...eachOf(['schema-bomb', 'redos-schema'], (mode) => [
    `F54/${mode}`,
    called(
      `s:${mode}`,
      { state: 'ready', isOk: true, callMs: { atMost: 500 } },
      `${'a'.repeat(40)}!`,
    ),
  ]),
  'F54/remote-ref': {
    inject: 's:remote-ref to a canary',
    expect: { state: 'ready', isOk: true, visits: 0 },
    async run(stage) {
      const canary = await stage.canary();
      await readyServer(stage, stage.stdio('remote-ref', ['--url', canary.url]));
      const { isOk } = await stage.call('bad', 'echo', { text: 'hi' });
      return { state: stage.status('bad').state, isOk, visits: canary.visits() };
    },
  },
};

const changes: Rows = {
  F58: {
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
      // After an even number of calls, the list must show it within a second of the last change.
      await pause(1_500);
      return { lists: log.count('tools/list'), last: last(), state: stage.status('bad').state };
    },
  },
  'F59/storm': {
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
      const seen = await besideCalls(stage, async () => {
        const { isOk, ms } = await stage.call('bad', 'echo', {}, 8_000);
        return { isOk, callMs: ms };
      });
      await pause(2_500);
      const lists = log.count('tools/list');
      await pause(1_500);
      const after = log.count('tools/list') - lists;
      const wasFlooding = stage.history('bad').some(({ reason }) => reason === 'flooding');
      const { state } = stage.status('bad');
      return { state, wasFlooding, ...seen, lists, after };
    },
  },
  'F59/feedback': {
    inject: 's:list-changed-feedback, 5 s',
    expect: { lists: { atMost: 7 }, isOk: true, state: ['ready', 'degraded'] },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('list-changed-feedback'));
      await pause(5_000);
      const { isOk } = await stage.call('bad', 'echo');
      return { lists: log.count('tools/list'), isOk, state: stage.status('bad').state };
    },
  },
  F61: {
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
};

export const listRows: Rows = {
  ...pages,
  ...sizes,
  ...lies,
  ...changes,
};
