/** Evidence about a loss from the end of its session. */

import type { Failure } from '../../domain/failure.ts';
import type { SessionEnd, SessionEvidence } from '../../domain/session.ts';
import { explanationInWords } from './explaining-line.ts';

/** Returns the failure of a session that ended unexpectedly, even if it gave no reason. */
export function lossOf({ failure }: Pick<SessionEnd, 'failure'>): Failure {
  return failure ?? { kind: 'transport', message: 'The session closed without a reason.' };
}

/** Adds the process's exit and output to a loss; details that the loss has already are kept. */
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
    return ' It was not started yet: an input, a command or the keychain, which its settings refer to, has no value yet.';
  return `${noiseInWords(evidence)}${explanationInWords(evidence)}`;
}

/** Mentions other output, which hints at a busy program or at the wrong one. */
function noiseInWords({ noiseCount = 0 }: SessionEvidence): string {
  if (noiseCount === 0) return '';
  return ` It wrote ${noiseCount} ${noiseCount === 1 ? 'line that is' : 'lines that are'} not MCP.`;
}
