/** What the end of a session tells of its loss. */

import type { Failure } from '../../domain/failure.ts';
import type { SessionEvidence, SessionFact } from '../../domain/session.ts';

type SessionClosed = Extract<SessionFact, { type: 'session.closed' }>;
type SessionEnding = SessionClosed | Extract<SessionFact, { type: 'session.listFailed' }>;

/** A session that closed unasked has failed, even when it did not say why. */
export function lossOf({ failure }: SessionEnding): Failure {
  return failure ?? { kind: 'transport', message: 'The session closed without a reason.' };
}

/** Keeps what a deadline found out and adds what the process left behind. */
export function withEvidence(loss: Failure, { failure, evidence }: SessionClosed): Failure {
  const { exitCode, signal, stderrTail } = failure ?? evidence ?? {};
  return {
    ...loss,
    message: `${loss.message}${evidenceInWords(loss, evidence)}`,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    ...(stderrTail === undefined ? {} : { stderrTail }),
  };
}

function evidenceInWords(loss: Failure, evidence: SessionEvidence = {}): string {
  if (loss.kind !== 'initTimeout') return '';
  if (evidence.isWaitingForValues === true)
    return ' It was not started yet: an input, a command or the keychain, which its settings refer to, gave no value so far.';
  return noiseInWords(evidence);
}

/** Who talks on the wire about something else may be too busy, or the wrong program, to answer. */
function noiseInWords({ noiseCount = 0 }: SessionEvidence): string {
  if (noiseCount === 0) return '';
  return ` It wrote ${noiseCount} ${noiseCount === 1 ? 'line that is' : 'lines that are'} not MCP.`;
}
