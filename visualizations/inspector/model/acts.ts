/** What each button of a server's page sends. */

export interface Sending {
  readonly command: string;
  readonly args: Readonly<Record<string, unknown>>;
}

// How long an answer may take before the page stops waiting for it; the act itself goes on.
const settleMs = 15_000;

const commandOf: Readonly<Record<string, string>> = {
  'server.start': 'start',
  'server.stop': 'stop',
  'server.restart': 'restart',
  'settings.reload': 'reload',
  start: 'start',
  stop: 'stop',
  restart: 'restart',
  reload: 'reload',
};

const labels: Readonly<Record<string, string>> = {
  'server.start': 'Start',
  'server.stop': 'Stop',
  'server.restart': 'Restart',
  'server.reconnect': 'Reconnect',
  'approval.grant': 'Approve',
  'approval.reject': 'Reject',
  'approval.revoke': 'Revoke',
  'auth.completed': 'Log-in is done',
  'trust.changed': 'Trust folder',
  'system.woke': 'System woke',
};

/** The decision that an act is about, for those that are asked of a person in a dialog. */
export function decisionOf(act: string): 'approve' | 'reject' | 'revoke' | undefined {
  switch (act) {
    case 'approve':
    case 'approval.grant':
      return 'approve';
    case 'reject':
    case 'approval.reject':
      return 'reject';
    case 'revoke':
    case 'approval.revoke':
      return 'revoke';
    default:
      return undefined;
  }
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
  if (command === 'reload') return { command, args: {} };
  if (command === 'stop') return { command, args: { server } };
  if (command !== undefined) return { command, args: { server, timeoutMs: settleMs } };
  const about = act === 'system.woke' ? {} : { server };
  const event = act === 'trust.changed' ? { type: act, trusted: true } : { type: act, ...about };
  return { command: 'send', args: { event } };
}
