/** Why a server does not work, in one line. */

import type { ServerStatus } from '../../../src/domain/host/status.ts';
import { toneOf } from './state-tones.ts';

/** Whether a server's state is a problem: it has failed, waits, or needs the user. */
export function isProblem({ state }: Pick<ServerStatus, 'state'>): boolean {
  const tone = toneOf[state];
  return tone === 'bad' || tone === 'waiting' || tone === 'person';
}

/**
 * The sentence that explains a server's problem: its last failure, or what it waits for. Undefined for
 * a server without a problem.
 */
export function causeOf(status: ServerStatus): string | undefined {
  if (!isProblem(status)) return undefined;
  const { name, source, lastError, action } = status;
  if (lastError === undefined) return action;
  const message = withoutPlace(lastError.message, source.file);
  return reasonFirst(explanationFirst(withoutStart(message, `mcpServers.${name}.`)));
}

/** What the process wrote explains more than how it ended, and a line may be cut. */
function explanationFirst(message: string): string {
  const [end = '', explanation] = message.split(' It wrote: ');
  if (explanation === undefined) return message;
  return `${explanation.replace(/\.$/u, '')}. ${end}`;
}

/** The request to a server is the same in every failure; only the reason is new. */
function reasonFirst(message: string): string {
  const [, request, reason] = /^(The request to \S+ failed): (.+?)\.?$/su.exec(message) ?? [];
  return request === undefined ? message : `${reason}. ${request}.`;
}

/** Without the file and line, which the panel shows: what is wrong comes first. */
function withoutPlace(message: string, file: string | undefined): string {
  return file === undefined || !message.startsWith(file)
    ? message
    : message.slice(file.length).replace(/^:\d+ /u, '');
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}
