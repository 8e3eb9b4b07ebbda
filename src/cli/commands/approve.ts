import { quotedWord } from '../../domain/data/printable.ts';
import type { ApprovalRequest } from '../../domain/host/approval.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { approvalLines, shortApprovalLines } from '../ask/approval-lines.ts';
import { createPrompt, readChoice } from '../ask/terminal.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import type { DecisionReport } from '../control/protocol.ts';
import { withRunning } from '../control/running-troupe.ts';
import { followStarts } from '../show/start-progress.ts';
import { statusLine } from '../show/status-lines.ts';

type Decision = 'approve' | 'reject' | 'revoke';

// Decisions made together are written once. 32 is half of what the troupe accepts at once.
const decidedAtOnce = 32;

/** The exit code while a decision is missing. */
const waitingExitCode = 10;

interface ApproveFlags {
  readonly all?: true;
  readonly details?: true;
  readonly fingerprint?: string;
  readonly yes?: true;
}

const fingerprintFlag = flag(
  '--fingerprint <hex>',
  'decide only about this fingerprint, as it was shown; does not ask',
);

const approveCommand: CommandDefinition<ApproveFlags> = {
  usage: 'approve [server...]',
  summary: 'let servers from the project folder start; without a name, list what needs approval',
  details:
    'Shows what would run, and asks for confirmation in a terminal: y or n, a for this server and all that follow, q to stop. Without a terminal, --yes or --fingerprint is required. Every warning and every difference from an earlier approval is shown; --details shows everything else that the decision covers. It is void once that changes. The exit code is 0 when everything named is approved, and 10 otherwise; without a name, it is 10 while something needs approval.',
  example: 'troupe approve db api',
  options: [
    flag('--all', 'decide about all servers that need approval'),
    flag('--details', 'show everything that the decision covers'),
    fingerprintFlag,
    flag('--yes', 'do not ask; required without a terminal unless --fingerprint is given'),
  ],
  async run(session, names, flags) {
    checkFlags(names, flags);
    return withRunning(session.launch, async (client) => {
      const { approvals } = await client.request('approvals', {});
      if (names.length === 0 && flags.all === undefined)
        return listWaiting(session, approvals, flags);
      return approve(session, client, await chosen(client, approvals, names, flags), flags);
    });
  },
};

/** `approve`, `reject` and `revoke`: decisions about servers that need approval. */
export const approvalCommands: readonly CommandDefinition[] = [
  approveCommand,
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

function decisionCommand(
  decision: Exclude<Decision, 'approve'>,
  help: Pick<CommandDefinition, 'usage' | 'summary' | 'details' | 'example'>,
): CommandDefinition<Pick<ApproveFlags, 'fingerprint'>> {
  return {
    ...help,
    options: [fingerprintFlag],
    run: (session, [server = ''], { fingerprint: given }) =>
      withRunning(session.launch, async (client) => {
        const { output } = session;
        const { approvals } = await client.request('approvals', {});
        const asked = approvals.find((each) => each.server === server);
        if (asked !== undefined) output.lines(approvalLines(asked));
        const report = await decide(client, decision, server, given ?? asked?.fingerprint);
        output.document(report);
        output.lines([statusLine(report.status, Date.now())]);
        noteUnsaved(session, [report]);
      }),
  };
}

function checkFlags(names: readonly string[], { all, fingerprint }: ApproveFlags): void {
  if (all === true && names.length > 0)
    throw usageError('--all means every server; leave out the names, or --all');
  if (fingerprint !== undefined && names.length !== 1)
    throw usageError('--fingerprint is about one server; name that one');
}

/**
 * The requests to decide about, in the order of the names.
 * @throws TroupeError for a name that needs no approval, before anything is decided
 */
async function chosen(
  client: ControlClient,
  approvals: readonly ApprovalRequest[],
  names: readonly string[],
  { all }: ApproveFlags,
): Promise<readonly ApprovalRequest[]> {
  if (all === true) return approvals.filter(({ decision }) => decision === 'pending');
  const requests: ApprovalRequest[] = [];
  for (const server of new Set(names)) {
    const request = approvals.find((each) => each.server === server);
    // No server has the empty fingerprint, so the troupe rejects this and says why.
    if (request === undefined) await decide(client, 'approve', server, undefined);
    else requests.push(request);
  }
  return requests;
}

async function approve(
  session: CliSession,
  client: ControlClient,
  requests: readonly ApprovalRequest[],
  flags: ApproveFlags,
): Promise<number> {
  const { output } = session;
  const open = requests.filter((each) => !isApproved(each, flags.fingerprint));
  if (requests.length === 0) output.lines(['nothing needs approval']);
  const agreed = await agreedTo(session, open, flags);
  const names = agreed.map(({ server }) => server);
  const wanted = new Set(agreed);
  const undecided = new Set(open);
  const decided = requests.filter((each) => wanted.has(each) || !undecided.has(each));
  const reportOn = (request: ApprovalRequest): Promise<DecisionReport> =>
    wanted.has(request)
      ? decide(client, 'approve', request.server, flags.fingerprint ?? request.fingerprint)
      : alreadyApproved(client, request);
  const reports = new Map<string, DecisionReport>();
  for (let at = 0; at < decided.length; at += decidedAtOnce) {
    const some = decided.slice(at, at + decidedAtOnce);
    for (const report of await Promise.all(some.map(reportOn)))
      reports.set(report.approval.server, report);
  }
  const latest = await followStarts(session, client, names);
  const nowMs = Date.now();
  for (const { server } of requests) {
    const report = reports.get(server);
    if (report === undefined) output.note(`${quotedWord(server)} is still not approved`);
    else output.lines([lineOf(report, latest.get(server), names.includes(server), nowMs)]);
  }
  const all = [...reports.values()];
  const [only] = all;
  // One server has had a document of its own since before several could be named.
  if (flags.all === undefined && requests.length === 1) {
    if (only !== undefined) output.document(only);
  } else output.document({ decisions: all });
  noteUnsaved(session, all);
  return reports.size === requests.length ? 0 : waitingExitCode;
}

/** Shows the requests, and asks about them unless the flags say yes. */
async function agreedTo(
  session: CliSession,
  open: readonly ApprovalRequest[],
  flags: ApproveFlags,
): Promise<readonly ApprovalRequest[]> {
  const isSure = flags.yes === true || flags.fingerprint !== undefined;
  if (!isSure)
    return agreedOf(session, open, (request) => showRequests(session, open, flags, request));
  showRequests(session, open, flags);
  return open;
}

/** Whether there is nothing left to decide; another fingerprint than the approved one is refused. */
function isApproved(
  { decision, toolChanges = [], fingerprint }: ApprovalRequest,
  given = fingerprint,
): boolean {
  return decision === 'granted' && toolChanges.length === 0 && given === fingerprint;
}

async function alreadyApproved(
  client: ControlClient,
  approval: ApprovalRequest,
): Promise<DecisionReport> {
  const { servers } = await client.request('status', { server: approval.server });
  return { approval, status: servers[0] as ServerStatus, saved: true };
}

function lineOf(
  { status }: DecisionReport,
  latest: ServerStatus | undefined,
  isNew: boolean,
  nowMs: number,
): string {
  const line = statusLine(latest ?? status, nowMs);
  return isNew ? line : `already approved: ${line}`;
}

function decide(
  client: ControlClient,
  decision: Decision,
  server: string,
  // Binds the decision to what was shown. No server has the empty fingerprint, so the troupe rejects a
  // server that was not shown and says why.
  fingerprint = '',
): Promise<DecisionReport> {
  return client.request(decision, { server, fingerprint });
}

function noteUnsaved({ output }: CliSession, reports: readonly DecisionReport[]): void {
  if (reports.every(({ saved }) => saved)) return;
  output.note(
    'the decision could not be saved and is lost when the troupe stops; see troupe status',
  );
}

/** Shows all requests, or `only` one of them, with a blank line between them. */
function showRequests(
  { launch, output }: CliSession,
  requests: readonly ApprovalRequest[],
  { details }: ApproveFlags,
  only?: ApprovalRequest,
): void {
  for (const request of only === undefined ? requests : [only]) {
    if (request !== requests[0]) output.lines(['']);
    output.lines(
      details === true ? approvalLines(request) : shortApprovalLines(request, launch.projectRoot),
    );
  }
}

function listWaiting(
  session: CliSession,
  approvals: readonly ApprovalRequest[],
  flags: ApproveFlags,
): number {
  const { output } = session;
  const waiting = approvals.filter(({ decision }) => decision === 'pending');
  output.document({ approvals: waiting });
  if (waiting.length === 0) {
    output.lines(['nothing needs approval']);
    return 0;
  }
  showRequests(session, waiting, flags);
  const [first] = waiting;
  const one = `troupe approve ${first?.server}, or troupe reject ${first?.server}`;
  output.lines([
    '',
    waiting.length === 1
      ? `decide: ${one}`
      : `decide: troupe approve --all; about one: ${one}; about more: troupe approve ${waiting
          .slice(0, 2)
          .map(({ server }) => server)
          .join(' ')}`,
    ...(flags.details === true
      ? []
      : ['see everything that a decision covers: troupe approve --details']),
  ]);
  return waitingExitCode;
}

/**
 * Returns the requests that the user agrees to. Without a terminal, as under an agent with a shell, no input
 * counts as yes. Ctrl-C and the end of the input count as no for all that follow.
 *
 * @param show - shows a request, right before the question about it
 * @throws TroupeError `USAGE` without a terminal
 */
async function agreedOf(
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
  if (requests.length > 1)
    return usageError(
      'cannot ask without a terminal; add --yes to approve all that was shown, or decide one by one with --fingerprint',
    );
  const { server, fingerprint } = first;
  return new TroupeError(
    'USAGE',
    `cannot ask without a terminal; run troupe approve ${server} --fingerprint ${fingerprint}, or use --yes to approve its current state`,
    { server },
  );
}
