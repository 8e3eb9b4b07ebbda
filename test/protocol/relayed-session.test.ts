import { describe, expect, it } from 'vitest';
import { RelayedSession } from '../../src/protocol/relayed-session.ts';

const line = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
const initialize = line({ id: 1, method: 'initialize', params: {} });
const initialized = line({ method: 'notifications/initialized' });

function introduced(): RelayedSession {
  const session = new RelayedSession();
  session.fromClient(initialize);
  session.fromServer(line({ id: 1, result: {} }));
  session.fromClient(initialized);
  return session;
}

describe('a session that is passed on to another server', () => {
  it('introduces the client again, which sees no second answer', () => {
    const session = introduced();
    expect(session.lose()).toEqual({
      again: [initialize, initialized],
      unknown: [],
      withdrawn: [],
    });
    expect(session.fromServer(line({ id: 1, result: {} }))).toBe(false);
  });

  it('answers an introduction that was in flight', () => {
    const session = new RelayedSession();
    session.fromClient(initialize);
    expect(session.lose().again).toEqual([initialize]);
    expect(session.fromServer(line({ id: 1, result: {} }))).toBe(true);
  });

  it('sends a request again that may be repeated, and never a call', () => {
    const session = introduced();
    const list = line({ id: 2, method: 'tools/list' });
    session.fromClient(list);
    session.fromClient(line({ id: 3, method: 'tools/call', params: { name: 'x' } }));
    session.fromClient(line({ id: 'own', method: 'vendor/act' }));
    expect(session.lose()).toMatchObject({
      again: [initialize, initialized, list],
      unknown: [
        { id: 3, isCall: true },
        { id: 'own', isCall: false },
      ],
    });
    // A further loss before the answer repeats only the list.
    expect(session.lose()).toMatchObject({ again: [initialize, initialized, list], unknown: [] });
    expect(session.fromServer(line({ id: 2, result: {} }))).toBe(true);
    expect(session.lose().again).toEqual([initialize, initialized]);
  });

  it('lists what has no answer at the end', () => {
    const session = introduced();
    session.fromClient(line({ id: 2, method: 'tools/list' }));
    session.fromClient(line({ id: 3, method: 'tools/call', params: { name: 'x' } }));
    session.lose();
    expect(session.unanswered()).toEqual([2]);
  });

  it('forgets a request that the client cancelled', () => {
    const session = introduced();
    session.fromClient(line({ id: 3, method: 'tools/call' }));
    session.fromClient(line({ method: 'notifications/cancelled', params: { requestId: 3 } }));
    expect(session.lose().unknown).toEqual([]);
  });

  it('repeats the log level and what is watched, as last chosen', () => {
    const session = introduced();
    const level = line({ id: 4, method: 'logging/setLevel', params: { level: 'error' } });
    const watchA = line({ id: 5, method: 'resources/subscribe', params: { uri: 'a' } });
    const watchB = line({ id: 6, method: 'resources/subscribe', params: { uri: 'b' } });
    const leaveA = line({ id: 7, method: 'resources/unsubscribe', params: { uri: 'a' } });
    for (const each of [level, watchA, watchB, leaveA]) session.fromClient(each);
    for (const id of [4, 5, 6, 7]) session.fromServer(line({ id, result: {} }));
    expect(session.lose().again).toEqual([initialize, initialized, level, watchB]);
    expect([4, 6, 9].map((id) => session.fromServer(line({ id, result: {} })))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('withdraws the questions that the client has not answered', () => {
    const session = introduced();
    for (const id of ['q1', 'q2'])
      expect(session.fromServer(line({ id, method: 'elicitation/create' }))).toBe(true);
    session.fromClient(line({ id: 'q1', result: {} }));
    expect(session.lose().withdrawn).toEqual(['q2']);
  });

  it('passes on what is no message', () => {
    const session = introduced();
    session.fromClient('no JSON');
    expect(session.fromServer('no JSON')).toBe(true);
    expect(session.lose().unknown).toEqual([]);
  });
});
