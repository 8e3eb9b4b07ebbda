/** How the era of a local server is found out, with each mode of the fixture server. */

import { afterEach, describe, expect, it } from 'vitest';
import type { ServerSpec } from '../../../../src/domain/server-spec.ts';
import { createClient } from '../../../../src/protocol/mcp-client.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { ScriptedTransport } from '../../../fixtures/scripted-transport.ts';
import { turn } from '../../../support/turn.ts';
import {
  type Bench,
  callOptions,
  createBench,
  fixtureSpec,
  type StartBench,
} from '../../session/bench.ts';

let bench: Bench | undefined;

afterEach(() => {
  bench?.stop();
});

function start(spec: ServerSpec): Bench {
  bench = createBench(spec)();
  bench.send('session.open');
  return bench;
}

async function opened(spec: ServerSpec): Promise<Bench> {
  const session = start(spec);
  await session.next('session.opened');
  return session;
}

async function failureOf(spec: ServerSpec) {
  return (await start(spec).next('session.closed')).failure;
}

describe("a stdio session's era", () => {
  it('falls back to the old handshake when the server does not know the probe', async () => {
    const session = await opened(fixtureSpec('ok', { era: 'auto' }));
    expect(session.verdicts.get('g1')).toEqual({ kind: 'legacy' });
  });

  it('falls back when the server does not answer the probe', async () => {
    const session = await opened(fixtureSpec('hang-discover', { era: 'auto' }));
    expect(session.verdicts.get('g1')).toEqual({ kind: 'legacy' });
  });

  it('restarts a server that exits at the probe within the same session', async () => {
    bench = createBench(fixtureSpec('exit-on-discover', { era: 'auto' }))();
    bench.send('session.open');
    expect(await bench.next('session.opened')).toMatchObject({ era: 'legacy' });
    expect(bench.verdicts.get('g1')).toEqual({ kind: 'legacy' });
    expect(bench.facts.map(({ type }) => type)).toEqual(['session.opened']);
    expect(bench.lines).toEqual([
      'exited when it was asked for its protocol era; it is started again with the old handshake',
    ]);
    bench.send('session.close');
    expect((await bench.next('session.closed')).failure).toBeUndefined();
  });

  describe('with a server that exits on both handshakes', () => {
    const script = new URL('../../../fixtures/modern-server.mjs', import.meta.url).pathname;
    const leaving = fixtureSpec('', {
      command: 'sh',
      args: ['-c', 'echo started >&2; read line; exit 3'],
      era: 'auto',
    });
    const startNext = (startBench: StartBench, spec: ServerSpec, session: number): Bench => {
      bench?.stop();
      bench = startBench({ spec, session });
      bench.send('session.open');
      return bench;
    };
    const failNext = async (startBench: StartBench, spec: ServerSpec, session: number) => {
      const next = startNext(startBench, spec, session);
      return (await next.next('session.closed')).failure;
    };
    const startCount = () => bench?.lines.filter((line) => line === 'started').length;

    it('is not probed again, so each attempt starts the server once', async () => {
      const startBench = createBench(leaving);
      const counts: unknown[] = [];
      for (const session of [1, 2, 3]) {
        const failure = await failNext(startBench, leaving, session);
        expect(failure).toMatchObject({ kind: 'crashed', exitCode: 3 });
        counts.push(startCount());
      }
      expect(counts).toEqual([2, 1, 1]);
    });

    it('is legacy when it answers the old handshake', async () => {
      const startBench = createBench(leaving);
      await failNext(startBench, leaving, 1);
      const well = fixtureSpec('exit-on-discover', { era: 'auto' });
      const next = startNext(startBench, well, 2);
      expect(await next.next('session.opened')).toMatchObject({ era: 'legacy' });
      expect(next.lines).toEqual([]);
      expect(next.verdicts.get('g1')).toEqual({ kind: 'legacy' });
    });

    it('is probed again when it refuses the old handshake', async () => {
      const startBench = createBench(leaving);
      await failNext(startBench, leaving, 1);
      const modern = fixtureSpec('', {
        command: process.execPath,
        args: [script, 'modern'],
        era: 'auto',
      });
      expect(await failNext(startBench, modern, 2)).toMatchObject({ kind: 'protocol' });
      const next = startNext(startBench, modern, 3);
      expect(await next.next('session.opened')).toMatchObject({ era: 'modern' });
    });
  });

  it('does not fall back when client and server share no version', async () => {
    const failure = await failureOf(fixtureSpec('no-common', { era: 'auto' }));
    expect(failure).toMatchObject({ kind: 'versionUnsupported' });
    expect(bench?.lines).toEqual([]);
  });

  it('is modern when the probe succeeds and is not probed twice', async () => {
    const startNext: StartBench = createBench(fixtureSpec('modern', { era: 'auto' }));
    for (const session of [1, 2]) {
      bench?.stop();
      bench = startNext({ session });
      bench.send('session.open');
      expect(await bench.next('session.opened')).toMatchObject({ era: 'modern' });
      await bench.next('session.notified');
      bench.send('session.list');
      expect(await bench.next('session.listed')).toMatchObject({ toolCount: 4 });
      expect(await bench.handle().callTool('echo', {}, callOptions())).toMatchObject({
        result: { content: [{ type: 'text' }] },
      });
      expect(bench.instructions).toBe('Modern.');
    }
    expect(bench?.verdicts.get('g1')).toMatchObject({ kind: 'modern' });
  });

  it('is not probed again after an answer', async () => {
    const transport = new ScriptedTransport();
    const error = { code: -32_601, message: 'Method not found' };
    transport.answer = ({ id }) => ({ jsonrpc: '2.0', id, error });
    const client = createClient({ mode: 'auto', hasChannel: true }, () => {});
    await expect(client.connect(transport)).rejects.toThrow('Method not found');
    const methods = transport.sent.map(({ method }) => method);
    expect(methods).toEqual(['server/discover', 'initialize']);
  });

  describe('after an unanswered probe', () => {
    const self = { supportedVersions: ['2026-07-28'], capabilities: {}, resultType: 'complete' };

    /** Leaves the first probe unanswered and refuses the old handshake. */
    async function refused(refusal: object) {
      const transport = new ScriptedTransport();
      transport.answer = () => undefined;
      const clock = new VirtualClock();
      const within = { clock, ms: 1_500 };
      const client = createClient({ mode: 'auto', hasChannel: true, within }, () => {});
      const connected = client.connect(transport);
      // Prevents an unhandled rejection; the test awaits it later.
      connected.catch(() => {});
      await turn();
      clock.advanceBy(1_500);
      await turn();
      transport.receive({ jsonrpc: '2.0', id: transport.sent[1]?.id, error: refusal });
      await turn();
      return { transport, client, connected, clock };
    }

    const unknownMethod = { code: -32_601, message: 'Method not found' };
    const unsupported = {
      code: -32_022,
      message: 'Unsupported',
      data: { supported: ['2026-07-28'] },
    };

    it.each([unsupported, unknownMethod])(
      'is modern if the server refuses initialize with $code and answers a second probe',
      async (refusal) => {
        const { transport, client, connected, clock } = await refused(refusal);
        const methods = transport.sent.map(({ method }) => method);
        expect(methods).toEqual(['server/discover', 'initialize', 'server/discover']);
        transport.receive({ jsonrpc: '2.0', id: transport.sent[0]?.id, result: self });
        expect(client.getProtocolEra()).toBeUndefined();
        transport.receive({ jsonrpc: '2.0', id: transport.sent[2]?.id, result: self });
        await connected;
        expect(client.getProtocolEra()).toBe('modern');
        expect(clock.pendingCount).toBe(0);
      },
    );

    it('stays unknown if the server refuses the second probe too', async () => {
      const { transport, client, connected } = await refused(unknownMethod);
      transport.receive({ jsonrpc: '2.0', id: transport.sent[2]?.id, error: unknownMethod });
      await expect(connected).rejects.toThrow('Method not found');
      expect(client.isClosed).toBe(true);
    });

    it('is not what a failure is about if the server refuses initialize', async () => {
      const script = `
        let asked = 0;
        require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
          const { id, method } = JSON.parse(line);
          asked += 1;
          const error = { code: -32601, message: 'no ' + method };
          if (asked > 1) console.log(JSON.stringify({ jsonrpc: '2.0', id, error }));
        });`;
      const refusing = fixtureSpec('', {
        command: process.execPath,
        args: ['-e', script],
        era: 'auto',
      });
      expect(await failureOf(refusing)).toMatchObject({
        message: 'The server refused initialize: no initialize',
      });
    });

    it('stays unknown if the server refuses initialize for another reason', async () => {
      const { transport, connected } = await refused({ code: -32_000, message: 'not today' });
      await expect(connected).rejects.toThrow('not today');
      expect(transport.sent.length).toBe(2);
    });
  });

  it('is probed again when the stored era was wrong', async () => {
    const startNext: StartBench = createBench(fixtureSpec('modern', { era: 'auto' }));
    const first = startNext();
    first.send('session.open');
    await first.next('session.opened');
    first.stop();
    const older = { spec: fixtureSpec('list-error', { era: 'auto' }) };
    const second = startNext({ ...older, session: 2 });
    second.send('session.open');
    await second.next('session.opened');
    second.send('session.list');
    await second.next('session.listFailed');
    second.stop();
    bench = startNext({ ...older, session: 3 });
    bench.send('session.open');
    expect(await bench.next('session.opened')).toMatchObject({ era: 'legacy' });
  });

  it('rejects a legacy server when the settings require the modern era', async () => {
    expect(await failureOf(fixtureSpec('ok', { era: 'modern' }))).toMatchObject({
      kind: 'versionUnsupported',
    });
  });
});
