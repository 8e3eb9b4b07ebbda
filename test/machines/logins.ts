/** Logins in tests: tokens, failures, and charts whose steps settle on command. */

import { createActor } from 'xstate';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import type {
  AuthorizationInput,
  DeviceTimes,
  StepInput,
  TokenStepDone,
} from '../../machines/authorization/authorization-setup.ts';
import type { AuthorizationFailureKind, TokenFacts } from '../../src/domain/authorization.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { HeldPromises } from './asking.ts';

export const user: AuthorizationInput = {
  id: 'db',
  seed: 7,
  needsUser: true,
  refreshAheadMs: 300_000,
  loginTimeoutMs: 600_000,
  maxStepUps: 2,
  rememberMs: 900_000,
};
export const machine: AuthorizationInput = { ...user, needsUser: false };

export const token: TokenFacts = {
  generation: 1,
  issuer: 'https://issuer.example',
  scopes: ['read'],
  expiresAtMs: 3_600_000,
  isRefreshable: true,
};
export const plain: TokenFacts = { ...token, isRefreshable: false };
export const next: TokenFacts = { ...token, generation: 2, expiresAtMs: 7_200_000 };

export const at = (nowMs: number, given?: TokenFacts | null): TokenStepDone => ({
  nowMs,
  ...(given !== undefined && { token: given }),
});
export const failure = (kind: AuthorizationFailureKind, nowMs = 0): TokenStepDone => ({
  nowMs,
  failure: { kind, message: `${kind}.` },
});

export const device: DeviceTimes = { intervalMs: 5_000, lifetimeMs: 60_000 };

export const steps = [
  'load',
  'discover',
  'register',
  'askUser',
  'requestCode',
  'poll',
  'exchange',
  'request',
  'refresh',
  'forget',
] as const;
export type Step = (typeof steps)[number];

export function story(input: AuthorizationInput) {
  const clock = new VirtualClock();
  const trace = recordTrace({ clock });
  const promises = new HeldPromises();
  const held = (name: Step) => promises.actor<TokenStepDone, StepInput>(name);
  const actors = Object.fromEntries(steps.map((name) => [name, held(name)])) as Record<
    Step,
    ReturnType<typeof held>
  >;
  const actor = createActor(authorizationMachine.provide({ actors }), {
    clock,
    input,
    inspect: trace.inspect,
  });
  return { actor: actor.start(), clock, trace, promises };
}
