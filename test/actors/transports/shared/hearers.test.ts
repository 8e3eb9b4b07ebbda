import { describe, expect, it } from 'vitest';
import { Hearers } from '../../../../actors/transports/shared/hearers.ts';
import type { LeasedConnection } from '../../../../actors/transports/shared/leased-connection.ts';
import { realClock } from '../../../../src/runtime/real-clock.ts';

const ann = { name: 'ann' } as unknown as LeasedConnection;
const bob = { name: 'bob' } as unknown as LeasedConnection;
const both = new Set([ann, bob]);

/** A server at which both have made a call, the second of which was answered. */
function afterCalls(): Hearers {
  const hearers = new Hearers(realClock);
  hearers.noteSent(1, 'tools/call', ann);
  hearers.noteSent(2, 'tools/call', bob);
  hearers.noteAnswer(2);
  return hearers;
}

describe('a line of the log of a shared server', () => {
  it('goes to the client with a call in flight', () => {
    expect(afterCalls().ofOutput(both)).toEqual([ann]);
  });

  it('goes to no other client while a cancelled call may still run', () => {
    const hearers = afterCalls();
    hearers.noteCancelled(1, () => 3);
    hearers.noteSent(4, 'tools/call', bob);
    hearers.noteAnswer(4);
    expect(hearers.ofOutput(both)).toEqual([ann]);
    // The client may be gone.
    expect(hearers.ofOutput(new Set([bob]))).toEqual([]);
  });

  it('goes to no client while cancelled calls of several may still run', () => {
    const hearers = afterCalls();
    hearers.noteCancelled(1, () => 3);
    hearers.noteSent(4, 'tools/call', bob);
    hearers.noteCancelled(4, () => 5);
    expect(hearers.ofOutput(both)).toEqual([]);
    hearers.noteAnswer(3);
    expect(hearers.ofOutput(both)).toEqual([bob]);
  });

  it('goes to the client that had the last call once the server has read the cancellation', () => {
    const hearers = afterCalls();
    hearers.noteCancelled(1, () => 3);
    hearers.noteSent(4, 'tools/call', bob);
    hearers.noteAnswer(4);
    hearers.noteAnswer(3);
    expect(hearers.ofOutput(both)).toEqual([bob]);
  });
});
