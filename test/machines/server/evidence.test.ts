/** What a server's status tells of a session that our own close has ended. */

import { describe, expect, it } from 'vitest';
import type { SessionEvidence } from '../../../src/domain/session.ts';
import { reach } from './ways.ts';

const stderrTail = ['waiting for the database'];
const toHandshake = ['slot.granted'] as const;
const toList = [...toHandshake, 'session.opened'] as const;
const toReady = [...toList, 'session.listed'] as const;

describe('a deadline', () => {
  it.each([
    ['handshake', toHandshake, 'connectDeadline', 'did not finish its handshake within 10000 ms.'],
    ['tool list', toList, 'listDeadline', 'did not list its tools within 5000 ms.'],
  ] as const)(
    'of the %s is told with what the server left behind',
    (_what, way, after, message) => {
      const { context } = reach({ by: [...way, { after }, { left: { exitCode: 3, stderrTail } }] });
      expect(context.lastError).toEqual({
        kind: 'initTimeout',
        message: `The server ${message}`,
        exitCode: 3,
        stderrTail,
      });
    },
  );

  it.each([
    [1, ' It wrote 1 line that is not MCP.'],
    [7, ' It wrote 7 lines that are not MCP.'],
  ])('tells of %i lines that are not MCP', (noiseCount, words) => {
    const left: SessionEvidence = { noiseCount };
    const { context } = reach({
      by: [...toHandshake, { after: 'connectDeadline' }, { left }],
    });
    expect(context.lastError?.message).toBe(
      `The server did not finish its handshake within 10000 ms.${words}`,
    );
  });
});

describe('a session that waits for what its settings refer to', () => {
  it('is told from a server that does not answer', () => {
    const left: SessionEvidence = { isWaitingForValues: true };
    const { context } = reach({ by: [...toHandshake, { after: 'connectDeadline' }, { left }] });
    expect(context.lastError?.message).toMatch(
      /within 10000 ms\. It was not started yet: an input/u,
    );
  });
});

describe('the wish of a person', () => {
  it('is no failure, whatever the server left behind', () => {
    const left: SessionEvidence = { stderrTail, noiseCount: 7 };
    const { context } = reach({ by: [...toHandshake, 'server.stop', { left }] });
    expect(context).toMatchObject({ loss: null, lastError: null });
  });
});

describe('a list that the server refused', () => {
  it('keeps its message', () => {
    const left: SessionEvidence = { stderrTail, noiseCount: 7 };
    const { context } = reach({ by: [...toList, 'session.listFailed', { left }] });
    expect(context.lastError).toEqual({
      kind: 'protocol',
      message: 'The list has no end.',
      stderrTail,
    });
  });
});

describe('a session that breaks', () => {
  it('is a loss like any other while it serves, and its tools are stale', () => {
    const { value, context } = reach({ by: [...toReady, { broke: true }] });
    expect(value).toMatchObject({
      connection: { parked: { backingOff: 'retrying' } },
      catalog: 'stale',
    });
    expect(context.loss?.kind).toBe('unknown');
  });

  it('is no loss while it closes because nobody calls', () => {
    const { value, context } = reach({ by: [...toReady, 'server.idled', { broke: true }] });
    expect(value.connection).toEqual({ parked: 'dormant' });
    expect(context).toMatchObject({ loss: null, lastError: { kind: 'unknown' } });
  });
});

describe('a sustained service', () => {
  it('makes the last failure old news', () => {
    const again = [{ lost: 'crashed' }, { after: 'reconnectBackoff' }, ...toReady] as const;
    const way = [...toReady, ...again] as const;
    expect(reach({ by: way }).context.lastError?.kind).toBe('crashed');
    expect(reach({ by: [...way, { after: 'sustainedReady' }] }).context.lastError).toBeNull();
  });
});
