/** The request behind each action button of a server. */

import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';

export interface Sending {
  readonly command: string;
  readonly args: Readonly<Record<string, unknown>>;
}

// How long the page waits for an answer; the command itself continues.
const settleMs = 15_000;

const commandOf: Readonly<Record<string, string>> = {
  'server.start': 'start',
  'server.stop': 'stop',
  'server.restart': 'restart',
};

const labels: Readonly<Record<string, string>> = {
  'server.start': 'Start',
  'server.stop': 'Stop',
  'server.restart': 'Restart',
  'server.reconnect': 'Reconnect',
  login: 'Log in',
  'auth.completed': 'Login is done',
};

const mainActs: Readonly<Partial<Record<ServerState, string>>> = {
  authRequired: 'login',
  blocked: 'approve',
  failed: 'server.restart',
  suspended: 'server.restart',
  degraded: 'server.restart',
  backingOff: 'server.reconnect',
  stopped: 'server.start',
  dormant: 'server.start',
};

/** The one action that helps: that of the next step, or of the state; undefined where nothing is to be done. */
export function mainActOf({
  state,
  action,
}: Pick<ServerStatus, 'state' | 'action'>): string | undefined {
  const [, command] = /\btroupe (start|restart|login|approve) \S/u.exec(action ?? '') ?? [];
  if (command === undefined) return mainActs[state];
  return command === 'login' || command === 'approve' ? command : `server.${command}`;
}

/** The decision of an action that opens a dialog. */
export function decisionOf(act: string): 'approve' | 'reject' | 'revoke' | undefined {
  return act === 'approve' || act === 'reject' || act === 'revoke' ? act : undefined;
}

export function labelOf(act: string): string {
  const known = labels[act];
  if (known !== undefined) return known;
  const words = act
    .replace(/^[a-z]+\./u, '')
    .replace(/([A-Z])/gu, ' $1')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function sendingOf(act: string, server: string): Sending {
  const command = commandOf[act];
  if (command === 'stop') return { command, args: { server } };
  if (command !== undefined) return { command, args: { server, timeoutMs: settleMs } };
  return { command: 'send', args: { event: { type: act, server } } };
}
