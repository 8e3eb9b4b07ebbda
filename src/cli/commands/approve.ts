import type { ApprovalRequest } from '../../domain/host/approval.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { quotedWord } from '../../policies/text/printable.ts';
import { approvalLines } from '../ask/approval-lines.ts';
import { createPrompt } from '../ask/terminal.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { statusLine } from '../show/status-lines.ts';

type Decision = 'approve' | 'reject' | 'revoke';

/** The exit code while a decision is missing. */
const waitingExitCode = 10;

/** `approve`, `reject` and `revoke`: decisions about servers that need approval. */
export const approvalCommands: readonly CommandDefinition[] = [
  decisionCommand('approve', {
    usage: 'approve [server]',
    summary: 'let a server from the project folder start; without a name, list what needs approval',
    details:
      'Shows everything that would run, and asks for confirmation in a terminal. Without a terminal, --yes or --fingerprint is required. The decision covers exactly what was shown: it is void once that changes. Without a server name, the exit code is 10 while something needs approval.',
    example: 'troupe approve db',
  }),
  decisionCommand('reject', {
    usage: 'reject <server>',
    summary: 'keep a server from the project folder from starting',
    details: 'You are not asked about it again until its settings change.',
    example: 'troupe reject db',
  }),
  decisionCommand('revoke', {
    usage: 'revoke <server>',
    summary: 'undo a decision: a running server is stopped and needs approval again',
    details: 'This applies to every process with the same project and state folder.',
    example: 'troupe revoke db',
  }),
];

interface DecisionFlags {
  readonly fingerprint?: string;
  readonly yes?: true;
}

function decisionCommand(
  decision: Decision,
  help: Pick<CommandDefinition, 'usage' | 'summary' | 'details' | 'example'>,
): CommandDefinition<DecisionFlags> {
  const fingerprintFlag = flag(
    '--fingerprint <hex>',
    'decide only about this fingerprint, as it was shown; does not ask',
  );
  const yesFlag = flag(
    '--yes',
    'do not ask; required without a terminal unless --fingerprint is given',
  );
  return {
    ...help,
    options: decision === 'approve' ? [fingerprintFlag, yesFlag] : [fingerprintFlag],
    run: (session, [server], { fingerprint: given, yes = false }) =>
      withRunning(session.launch, async (client) => {
        const { approvals } = await client.request('approvals', {});
        if (server === undefined) return listWaiting(session, approvals);
        const asked = approvals.find((each) => each.server === server);
        if (asked !== undefined) session.output.lines(approvalLines(asked));
        const isSure = decision !== 'approve' || given !== undefined || yes;
        if (asked !== undefined && !isSure && !(await isAgreed(session, asked))) {
          session.output.note(`${quotedWord(server)} is still not approved`);
          return waitingExitCode;
        }
        // The fingerprint binds the decision to what was shown. No server has the empty fingerprint, so
        // the troupe rejects a server that was not shown and says why.
        const fingerprint = given ?? asked?.fingerprint ?? '';
        return decide(session, client, decision, { server, fingerprint });
      }),
  };
}

async function decide(
  { output }: CliSession,
  client: ControlClient,
  decision: Decision,
  about: { readonly server: string; readonly fingerprint: string },
): Promise<number> {
  const report = await client.request(decision, about);
  output.document(report);
  output.lines([statusLine(report.status, Date.now())]);
  if (!report.saved) {
    output.note(
      'the decision could not be saved and is lost when the troupe stops; see troupe status',
    );
  }
  return 0;
}

function listWaiting({ output }: CliSession, approvals: readonly ApprovalRequest[]): number {
  const waiting = approvals.filter(({ decision }) => decision === 'pending');
  output.document({ approvals: waiting });
  if (waiting.length === 0) {
    output.lines(['nothing needs approval']);
    return 0;
  }
  output.lines(waiting.flatMap((request) => [...approvalLines(request), '']));
  output.lines(
    waiting.map(({ server }) => `decide: troupe approve ${server}, or troupe reject ${server}`),
  );
  return waitingExitCode;
}

/**
 * Asks for confirmation at a terminal. Without one, as under an agent with a shell, no input counts as yes.
 * @throws TroupeError `USAGE` without a terminal
 */
async function isAgreed(
  session: CliSession,
  { server, fingerprint }: ApprovalRequest,
): Promise<boolean> {
  const ignoreInterrupt = { onInterrupt: () => undefined };
  // Without a terminal on stdout, the user has not seen what would run.
  const prompt = session.output.interactive
    ? createPrompt(session, ignoreInterrupt, '', (text: string, { read }) => read(text))
    : undefined;
  if (prompt === undefined) {
    throw new TroupeError(
      'USAGE',
      `cannot ask without a terminal; run troupe approve ${server} --fingerprint ${fingerprint}, or use --yes to approve its current state`,
      { server },
    );
  }
  // Ctrl-C and the end of the input count as no.
  const answer = await prompt(`approve ${quotedWord(server)}? [y/N] `, new AbortController());
  return /^y(?:es)?$/iu.test(answer?.trim() ?? '');
}
