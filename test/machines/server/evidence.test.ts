/** What a server's status reports of a session that ended. */

import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/domain/failure.ts';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { attempts } from './small-server.ts';
import { reach } from './ways.ts';

const stderrTail = ['waiting for the database'];
const toHandshake = ['slot.granted'] as const;
const toList = [...toHandshake, 'session.opened'] as const;
const toReady = [...toList, 'session.listed'] as const;
const late: Failure = { kind: 'initTimeout', message: 'The server did not answer in time.' };

describe('a start that takes too long', () => {
  it.each([
    ['handshake', toHandshake],
    ['tool list', toList],
  ] as const)("is reported with the server's last output when it hangs in the %s", (_what, way) => {
    const evidence = { exitCode: 3, stderrTail };
    const { context } = reach({ by: [...way, { lost: late, evidence }] });
    expect(context.lastError).toEqual({ ...late, exitCode: 3, stderrTail });
  });

  it.each([
    [1, ' It wrote 1 line that is not MCP.'],
    [7, ' It wrote 7 lines that are not MCP.'],
  ])('reports %i non-MCP lines', (noiseCount, words) => {
    const { context } = reach({ by: [...toHandshake, { lost: late, evidence: { noiseCount } }] });
    expect(context.lastError?.message).toBe(`${late.message}${words}`);
  });

  it('quotes what the server wrote about it', () => {
    const evidence = { explanation: 'connect ECONNREFUSED 127.0.0.1:1', noiseCount: 1 };
    const { context } = reach({ by: [...toHandshake, { lost: late, evidence }] });
    expect(context.lastError?.message).toBe(
      `${late.message} It wrote 1 line that is not MCP. It wrote: connect ECONNREFUSED 127.0.0.1:1`,
    );
  });

  it('reports that the server waited for a settings value', () => {
    const evidence = { isWaitingForValues: true } as const;
    const { context } = reach({ by: [...toHandshake, { lost: late, evidence }] });
    expect(context.lastError?.message).toMatch(/in time\. It was not started yet: an input/u);
  });
});

describe('a command', () => {
  it('is not a failure, whatever the server wrote', () => {
    const left: SessionEvidence = { stderrTail, noiseCount: 7 };
    const { context } = reach({ by: [...toHandshake, 'server.stop', { left }] });
    expect(context).toMatchObject({ loss: null, lastError: null });
  });
});

describe('a refused list', () => {
  it("keeps the server's message", () => {
    const lost: Failure = { kind: 'protocol', message: 'The list has no end.' };
    const evidence: SessionEvidence = { stderrTail, noiseCount: 7 };
    const { context } = reach({ by: [...toList, { lost, evidence }] });
    expect(context.lastError).toEqual({ ...lost, stderrTail });
  });
});

describe('one session replacement too many', () => {
  it("is reported with the server's last output", () => {
    const reconnectStorm = { limit: 1, windowMs: 1_000, action: 'suspend' } as const;
    const { value, context } = reach({
      born: { policy: { storm: { reconnectStorm } } },
      by: [...toReady, 'breaker.tripped', { left: { stderrTail } }],
    });
    expect(value.connection).toEqual({ parked: { suspended: 'reconnectStorm' } });
    expect(context.lastError).toMatchObject({ kind: 'transport', stderrTail });
  });
});

describe('a server that was never started', () => {
  it('does not count as an attempt', () => {
    const { value, context } = reach({
      born: { policy: attempts(1) },
      by: [...toHandshake, { lost: 'notStarted' }],
    });
    expect(value.connection).toEqual({ parked: { backingOff: 'retrying' } });
    expect(context.tries.attempt).toBe(0);
  });
});

describe('a session that breaks', () => {
  it('counts as a loss while it serves, and makes its tools stale', () => {
    const { value, context } = reach({ by: [...toReady, { broke: true }] });
    expect(value).toMatchObject({
      connection: { parked: { backingOff: 'retrying' } },
      catalog: 'stale',
    });
    expect(context.loss?.kind).toBe('unknown');
  });

  it('is not a loss while it closes because it is idle', () => {
    const { value, context } = reach({ by: [...toReady, 'server.idled', { broke: true }] });
    expect(value.connection).toEqual({ parked: 'dormant' });
    expect(context).toMatchObject({ loss: null, lastError: { kind: 'unknown' } });
  });
});

describe('sustained service', () => {
  it('clears the last failure', () => {
    const again = [{ lost: 'crashed' }, { after: 'reconnectBackoff' }, ...toReady] as const;
    const way = [...toReady, ...again] as const;
    expect(reach({ by: way }).context.lastError?.kind).toBe('crashed');
    expect(reach({ by: [...way, { after: 'sustainedReady' }] }).context.lastError).toBeNull();
  });
});
