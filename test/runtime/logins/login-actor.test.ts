/** What a request without a token requests from its login. */

import { describe, expect, it } from 'vitest';
import { createActor, fromPromise } from 'xstate';

import { authorizationMachine } from '../../../machines/authorization/authorization.ts';
import type {
  LoadStepDone,
  StepInput,
  TokenStepDone,
} from '../../../machines/authorization/authorization-setup.ts';
import { settledToken } from '../../../src/runtime/logins/login-actor.ts';

function started(needsUser: boolean) {
  const events: string[] = [];
  const chart = authorizationMachine.provide({
    actors: {
      load: fromPromise<LoadStepDone, StepInput>(async () => ({
        nowMs: 0,
        token: null,
        demands: {},
      })),
      request: fromPromise<TokenStepDone, StepInput>(async () => ({
        nowMs: 0,
        failure: { kind: 'grant', message: 'No.' },
      })),
    },
  });
  const actor = createActor(chart, {
    input: {
      id: 'login',
      seed: 1,
      needsUser,
      refreshAheadMs: 0,
      loginTimeoutMs: 1_000,
      maxStepUps: 0,
      rememberMs: 0,
    },
    inspect: (event) => {
      if (event.type === '@xstate.event' && event.actorRef === actor) events.push(event.event.type);
    },
  });
  actor.start();
  return { actor, events };
}

describe('a request without a token', () => {
  it('waits for the stored token, then sends the chart nothing if a user must log in', async () => {
    const { actor, events } = started(true);
    const first = await settledToken(actor, 0);
    expect(first.value).toEqual({ unauthorized: 'signedOut' });
    const before = events.length;
    expect(await settledToken(actor, 0)).toBe(first);
    expect(events.slice(before)).toEqual([]);
  });

  it('requests another token if no user is needed', async () => {
    const { actor, events } = started(false);
    await settledToken(actor, 0);
    const before = events.length;
    await settledToken(actor, 0);
    expect(events.slice(before)).toContain('token.wanted');
  });

  it('fails once its login has stopped', async () => {
    const { actor } = started(true);
    await settledToken(actor, 0);
    actor.stop();
    await expect(settledToken(actor, 0)).rejects.toMatchObject({ code: 'STOPPED' });
  });
});
