import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { ApprovalRequest } from '../../domain/host/approval.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { changedTool, unknownTool } from '../../runtime/errors/call-refusal.ts';

import type { CallReport } from '../../runtime/troupe.ts';
import { type CallQuestion, createPermissionPrompt } from '../ask/permission.ts';
import { answerHere } from '../ask/question.ts';
import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { listTools } from '../control/commands.ts';
import { findRunning, type RunningTroupe } from '../control/running-troupe.ts';
import { requireServer, settleTimeoutMs } from '../control/settled-servers.ts';
import { inProcess } from '../run/in-process-troupe.ts';
import { resultLines } from '../show/tool-result-text.ts';
import { argumentsFromJson, argumentsFromWords, type ToolArguments } from '../tool-arguments.ts';

/** The exit code when the tool reports an error in its result. */
const toolErrorExitCode = 14;
/** The largest request that a session sends; more on stdin is a mistake. */
const maxArgsBytes = 16 * 1_048_576;
/** The runtime sets the call's deadline; this one only detects a troupe that hangs. */
const longestCallMs = 600_000;
const extraMs = 5_000;

interface Call {
  readonly server: string;
  readonly tool: string;
  readonly words: readonly string[];
  /** From `--args`; `words` is then unused. */
  readonly given?: ToolArguments;
}

/** `call`: calls one tool once. */
export const callCommand: CommandDefinition = {
  usage: 'call <server> <tool> [key=value...]',
  summary: 'call a tool and print its result',
  details:
    "Values are parsed by the tool's schema: numbers, true or false, JSON for lists and objects. " +
    'Uses the running troupe. Without one, it starts only this server, calls the tool and stops it.',
  example: 'troupe call everything get-sum a=2 b=3',
  options: (command) =>
    command.option('--args <json>', 'all arguments as one JSON object, or @FILE, or - for stdin'),
  async run(session, [server = '', tool = '', ...words], flags) {
    const given = await givenArguments(session, flags['args']);
    if (given !== undefined && words.length > 0) {
      throw new TroupeError('USAGE', 'pass the arguments as key=value or with --args, not both');
    }
    const call: Call = { server, tool, words, ...(given === undefined ? {} : { given }) };
    const running = await findRunning(session.launch);
    try {
      if (running === undefined || running.differences.length > 0) {
        return await callInProcess(session, call, running);
      }
      const { client } = running;
      const settleMs = session.launch.timeoutMs ?? settleTimeoutMs;
      const args =
        given ??
        (words.length === 0
          ? {}
          : await readWords(
              call,
              (await client.request('tools', { server, timeoutMs: settleMs }, settleMs + extraMs))
                .tools,
              async () => (await client.request('approvals', {})).approvals,
            ));
      const { timeoutMs } = session.launch;
      const request = {
        server,
        tool,
        arguments: args,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      };
      const requestId = answerHere(session, client);
      const asked = { ...request, ...(requestId === undefined ? {} : { requestId }) };
      const send = (answer: object): Promise<CallReport> =>
        client.request('call', { ...asked, ...answer }, (timeoutMs ?? longestCallMs) + extraMs);
      return showReport(
        session,
        await sendAllowed(session, { server, tool, arguments: args }, send),
      );
    } finally {
      running?.client.close();
    }
  },
};

/** Sends the call; if it only lacks the user's permission, asks for that and sends it again. */
async function sendAllowed(
  session: CliSession,
  question: CallQuestion,
  send: (answer: object) => Promise<CallReport>,
): Promise<CallReport> {
  try {
    return await send({});
  } catch (error) {
    const prompt = createPermissionPrompt(session);
    const isWanting = error instanceof TroupeError && error.code === 'PERMISSION_DENIED';
    if (!isWanting || !error.retryable || prompt === undefined) throw error;
    const permission = await prompt(question, new AbortController());
    return send({ permission });
  }
}

function callInProcess(
  session: CliSession,
  call: Call,
  running: RunningTroupe | undefined,
): Promise<number> {
  const { server, tool, words, given } = call;
  const { timeoutMs } = session.launch;
  return inProcess(
    session,
    async (troupe, signal) => {
      requireServer(troupe, server);
      const settle = { timeoutMs: timeoutMs ?? settleTimeoutMs, signal };
      const args =
        given ??
        (words.length === 0
          ? {}
          : await readWords(call, await listTools(troupe, server, settle), () =>
              troupe.approvals(),
            ));
      const askPermission = createPermissionPrompt(session);
      const options = {
        signal,
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
        ...(askPermission === undefined ? {} : { askPermission }),
      };
      return showReport(session, await troupe.callServerTool(server, tool, args, options));
    },
    { running, server },
  );
}

async function readWords(
  { server, tool, words }: Call,
  tools: readonly ExposedTool[],
  approvals: () => readonly ApprovalRequest[] | Promise<readonly ApprovalRequest[]>,
): Promise<ToolArguments> {
  const found = tools.find((each) => each.tool === tool);
  if (found !== undefined) return argumentsFromWords(words, found.inputSchema);
  const request = (await approvals()).find((each) => each.server === server);
  // A tool that is held back is not listed; the runtime refuses a call without arguments the same way.
  if (request?.toolChanges?.some((change) => change.tool === tool) === true)
    throw changedTool(server, tool);
  const known = tools.map((each) => ({ name: each.tool }));
  throw unknownTool(tool, known, server);
}

function showReport({ output }: CliSession, { result, meta }: CallReport): number {
  output.document({ result, meta });
  output.lines(resultLines(result));
  if (result.isError !== true) return 0;
  output.note(
    `${meta.tool} of ${meta.server} returned an error; troupe tools ${meta.server} --json shows its arguments`,
  );
  return toolErrorExitCode;
}

async function givenArguments(
  { host }: CliSession,
  text: unknown,
): Promise<ToolArguments | undefined> {
  if (typeof text !== 'string') return undefined;
  if (text === '-') return argumentsFromJson(await readAll(host.stdin), 'stdin');
  if (!text.startsWith('@')) return argumentsFromJson(text, '--args');
  const file = path.resolve(host.cwd, text.slice(1));
  try {
    return argumentsFromJson(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    throw new TroupeError(
      'USAGE',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code}); pass a readable file to --args @FILE`,
    );
  }
}

async function readAll(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = Buffer.from(chunk as Uint8Array | string);
    bytes += part.length;
    if (bytes > maxArgsBytes)
      throw new TroupeError(
        'USAGE',
        'stdin has more than 16 MB; pass less, for example a file name',
      );
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}
