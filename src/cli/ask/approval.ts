/** Asks the user at a terminal which servers to approve. */

import { quotedWord } from '../../domain/data/printable.ts';
import type { ApprovalRequest } from '../../domain/host/approval.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { CliSession } from '../command.ts';
import { createPrompt, readChoice } from './terminal.ts';

/**
 * Returns the requests that the user agrees to. Without a terminal, as under an agent with a shell, no input
 * counts as yes. Ctrl-C and the end of the input count as no for all that follow.
 *
 * @param show - shows a request, right before the question about it
 * @throws TroupeError `USAGE` without a terminal
 */
export async function agreedOf(
  session: CliSession,
  requests: readonly ApprovalRequest[],
  show: (request: ApprovalRequest) => void,
): Promise<readonly ApprovalRequest[]> {
  const [first] = requests;
  if (first === undefined) return [];
  const isSeveral = requests.length > 1;
  const ignoreInterrupt = { onInterrupt: () => undefined };
  // Without a terminal on stdout, the user has not seen what would run.
  const prompt = session.output.interactive
    ? createPrompt(session, ignoreInterrupt, undefined, (text: string, terminal) =>
        readChoice(
          terminal,
          text,
          isSeveral ? /^(?:y(?:es)?|no?|q(?:uit)?|a(?:ll)?)$/u : /^(?:y(?:es)?|no?)$/u,
        ),
      )
    : undefined;
  if (prompt === undefined) {
    for (const request of requests) show(request);
    throw cannotAsk(requests, first);
  }
  const agreed: ApprovalRequest[] = [];
  if (isSeveral)
    session.output.note('y = yes, n = no, a = yes to this and all that follow, q = no to them');
  for (const [index, request] of requests.entries()) {
    const choices = isSeveral ? ` (${index + 1} of ${requests.length})? [y/N/a/q] ` : '? [y/N] ';
    const question = `approve ${quotedWord(request.server)}${choices}`;
    show(request);
    const answer = await prompt(question, new AbortController());
    if (answer === undefined) return agreed;
    if (answer.startsWith('q')) return agreed;
    if (answer.startsWith('a')) return [...agreed, ...requests.slice(index)];
    if (answer.startsWith('y')) agreed.push(request);
  }
  return agreed;
}

function cannotAsk(requests: readonly ApprovalRequest[], first: ApprovalRequest): TroupeError {
  const { server, fingerprint } = first;
  if (requests.length > 1) {
    return new TroupeError(
      'USAGE',
      'cannot ask without a terminal; add --yes to approve all that was shown, or decide one by one with --fingerprint',
    );
  }
  return new TroupeError(
    'USAGE',
    `cannot ask without a terminal; run troupe approve ${server} --fingerprint ${fingerprint}, or use --yes to approve its current state`,
    { server },
  );
}
