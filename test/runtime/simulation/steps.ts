/** What a schedule does, as plain data that can be printed, repeated and shortened. */

import type { Random } from './random.ts';

/** How a server's peer behaves from now on. */
export const behaviors = [
  'obeys',
  'refuses',
  'hangsAtOpen',
  'hangsAtList',
  'failsList',
  'flaps',
  'hangsAtClose',
  'wantsLogin',
  'exitsCleanly',
  'lacksVersion',
  'losesCalls',
  'hangsCalls',
  'failsCalls',
  'crashesAtCalls',
  'hangsWhenAsked',
  'asksBack',
] as const;
export type Behavior = (typeof behaviors)[number];

export const edits = [
  'args',
  'tools',
  'timeout',
  'startup',
  'idleStop',
  'enabled',
  'remove',
  'add',
  'carrier',
  'restart',
  'health',
  'handover',
] as const;
export type Edit = (typeof edits)[number];

export type Step =
  | { readonly kind: 'advance'; readonly ms: number }
  | { readonly kind: 'edit'; readonly server: string; readonly edit: Edit; readonly value: number }
  | { readonly kind: 'swap'; readonly server: string; readonly other: string }
  | {
      readonly kind: 'lists';
      readonly excluded: readonly string[];
      readonly allowed: readonly string[] | null;
    }
  /** The user's file becomes unreadable, or readable again, or is touched. */
  | { readonly kind: 'breakFile' | 'repairFile' | 'touchFile' }
  /** The watch loses events until a reload. */
  | { readonly kind: 'deafen' | 'reload' }
  | {
      readonly kind: 'decide';
      readonly server: string;
      readonly decision: 'grant' | 'reject' | 'revoke';
      /** The decision is about what was shown before an edit. */
      readonly isStale: boolean;
    }
  | { readonly kind: 'trust'; readonly trusted: boolean }
  | { readonly kind: 'hostAllow'; readonly allowed: readonly string[] | null }
  | {
      readonly kind: 'command';
      readonly server: string;
      readonly command: 'start' | 'stop' | 'restart' | 'reconnect';
    }
  | {
      readonly kind: 'call';
      readonly server: string;
      readonly timeoutMs: number;
      readonly count: number;
    }
  | { readonly kind: 'cancel'; readonly nth: number }
  | { readonly kind: 'behave'; readonly server: string; readonly behavior: Behavior }
  | {
      readonly kind: 'crash' | 'notify' | 'impair' | 'recover' | 'lateFact';
      readonly server: string;
    }
  | { readonly kind: 'wake' };

export function namesOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `s${index}`);
}

/** Draws a schedule. Everything it does is in the steps; equal seeds give equal schedules. */
export function drawSteps(random: Random, count: number, servers: readonly string[]): Step[] {
  return Array.from({ length: count }, () => drawStep(random, servers));
}

function drawStep(random: Random, servers: readonly string[]): Step {
  const server = random.pick(servers);
  const some = (): readonly string[] => servers.filter(() => random.isTrue(0.8));
  const draw = random.weighted<() => Step>([
    [24, () => ({ kind: 'advance', ms: drawTime(random) })],
    [10, () => ({ kind: 'edit', server, edit: random.pick(edits), value: random.int(1, 4) })],
    // Makes another generation, and so a handover for seamless servers.
    [6, () => ({ kind: 'edit', server, edit: 'args', value: random.int(1, 4) })],
    [1, () => ({ kind: 'swap', server, other: random.pick(servers) })],
    [
      2,
      () => ({
        kind: 'lists',
        excluded: servers.filter(() => random.isTrue(0.1)),
        allowed: random.isTrue(0.6) ? null : some(),
      }),
    ],
    [2, () => ({ kind: random.pick(['breakFile', 'repairFile', 'repairFile', 'touchFile']) })],
    [2, () => ({ kind: random.pick(['deafen', 'reload', 'reload']) })],
    [
      6,
      () => ({
        kind: 'decide',
        server,
        decision: random.pick(['grant', 'grant', 'grant', 'reject', 'revoke']),
        isStale: random.isTrue(0.2),
      }),
    ],
    [1, () => ({ kind: 'trust', trusted: random.isTrue(0.7) })],
    [1, () => ({ kind: 'hostAllow', allowed: random.isTrue(0.6) ? null : some() })],
    [
      8,
      () => ({
        kind: 'command',
        server,
        command: random.pick(['start', 'stop', 'restart', 'reconnect']),
      }),
    ],
    [
      16,
      () => ({
        kind: 'call',
        server,
        timeoutMs: random.pick([50, 1_000, 10_000, 60_000]),
        count: random.pick([1, 1, 2, 3, 7, random.isTrue(0.2) ? 140 : 1]),
      }),
    ],
    [3, () => ({ kind: 'cancel', nth: random.int(0, 20) })],
    [
      12,
      () => ({
        kind: 'behave',
        server,
        behavior: random.pick(['obeys', 'obeys', 'obeys', 'failsCalls', 'refuses', ...behaviors]),
      }),
    ],
    [
      12,
      () => ({
        kind: random.pick(['crash', 'crash', 'notify', 'impair', 'recover', 'lateFact']),
        server,
      }),
    ],
    [2, () => ({ kind: 'wake' })],
  ]);
  return draw();
}

function drawTime(random: Random): number {
  return random.weighted<() => number>([
    [4, () => random.int(1, 20)],
    [6, () => random.int(100, 2_000)],
    [3, () => random.int(2_000, 40_000)],
    [1, () => random.int(60_000, 600_000)],
  ])();
}
