import { spelledOut } from '../../policies/printable.ts';
import type { ApprovalRequest } from '../../runtime/troupe.ts';
import type { CommandDefinition, DefineCommand } from '../command-definition.ts';
import { withRunning } from '../running-troupe.ts';
import { statusLine } from '../status-log.ts';

type Decision = 'approve' | 'reject' | 'revoke';

/** Defines `approve`, `reject` and `revoke`: decisions about servers that the project folder brought. */
export function defineApprovalCommands(define: DefineCommand): void {
  define(decisionCommand(
    'approve',
    'let a server start that the project folder brought',
    'The decision is about the command line shown, and holds until that changes.',
  ));
  define(decisionCommand('reject', 'keep a server from starting that the project folder brought'));
  define(decisionCommand(
    'revoke',
    'take a decision back: a server that runs is ended and waits for approval again',
  ));
}

function decisionCommand(decision: Decision, summary: string, details?: string): CommandDefinition {
  return {
    usage: `${decision} <server>`,
    summary,
    ...(details === undefined ? {} : { details }),
    example: `troupe ${decision} db`,
    async run({ launch, output }, [server = '']) {
      return withRunning(launch, async (client) => {
        const { approvals } = await client.request('approvals', {});
        const asked = approvals.find((each) => each.server === server);
        if (asked !== undefined) output.lines(describe(asked));
        // What was shown is what is decided: the fingerprint keeps a later edit out, and no
        // server has the empty one. The troupe says what is amiss with one that was not shown.
        const fingerprint = asked?.fingerprint ?? '';
        const report = await client.request(decision, { server, fingerprint });
        output.document(report);
        output.lines([statusLine(report.status, Date.now())]);
        return 0;
      });
    },
  };
}

/** What would run, whole: a person decides by reading it. */
function describe(request: ApprovalRequest): string[] {
  const { source, command, args = [], cwd, envNames = [], url, headerNames = [] } = request;
  const line = source.line === undefined ? '' : `:${source.line}`;
  const words = command === undefined ? [] : [command, ...args];
  const facts: readonly (readonly [string, string])[] = [
    ['server', request.server],
    ['from', `${source.file ?? ''}${line}`],
    ['runs', words.map((word) => `"${word.replaceAll('"', String.raw`\"`)}"`).join(' ')],
    ['in', cwd ?? ''],
    ['variables', envNames.join(', ')],
    ['connects to', url ?? ''],
    ['headers', headerNames.join(', ')],
  ];
  return facts
    .filter(([, value]) => value !== '')
    .map(([title, value]) => `${title.padEnd(12)} ${spelledOut(value)}`);
}
