/** Evidence about a loss from the end of its session. */

import type { Failure } from '../../domain/failure.ts';
import type { SessionEnd, SessionEvidence } from '../../domain/session.ts';

/** A session that ended unasked has failed, even when it did not say why. */
export function lossOf({ failure }: Pick<SessionEnd, 'failure'>): Failure {
  return failure ?? { kind: 'transport', message: 'The session closed without a reason.' };
}

/** Adds to a loss what the process left behind; what the loss already says of its end stays. */
export function withEvidence(loss: Failure, { evidence }: Pick<SessionEnd, 'evidence'>): Failure {
  const { exitCode, signal, stderrTail } = { ...evidence, ...loss };
  return {
    ...loss,
    message: `${loss.message}${evidenceInWords(loss, evidence)}`,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    ...(stderrTail === undefined ? {} : { stderrTail }),
  };
}

function evidenceInWords(loss: Failure, evidence: SessionEvidence): string {
  if (loss.kind !== 'initTimeout') return '';
  if (evidence.isWaitingForValues === true)
    return ' It was not started yet: an input, a command or the keychain, which its settings refer to, gave no value so far.';
  return noiseInWords(evidence);
}

/** A program that writes other lines may be too busy, or the wrong program, to answer. */
function noiseInWords({ noiseCount = 0 }: SessionEvidence): string {
  if (noiseCount === 0) return '';
  return ` It wrote ${noiseCount} ${noiseCount === 1 ? 'line that is' : 'lines that are'} not MCP.`;
}
