import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { defined } from '../../domain/data/defined.ts';
import type { Question, QuestionHandler } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import type { CallReport } from '../../runtime/troupe.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import type { ControlArgs } from '../control/schemas.ts';
import { checkName } from '../flag-values.ts';
import { type AdHocFlags, adHocDetails, adHocFlags } from '../run/ad-hoc.ts';
import { listedTool, listedTools, type UsedServer, usedTool } from '../run/used-tool.ts';
import type { UsedTroupe } from '../run/used-troupe.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { resultLines } from '../show/tool-result-text.ts';
import {
  argumentsFromJson,
  argumentsFromWords,
  type ToolArguments,
  unlistedNotes,
} from '../tool-arguments.ts';

/** The exit code when the tool reports an error in its result. */
const toolErrorExitCode = 14;
/** The largest request that a session sends; more on stdin is a mistake. */
const maxArgsBytes = 16 * 1_048_576;
/** The runtime sets the call's deadline; this one only detects a troupe that hangs. */
const longestCallMs = 600_000;
const extraMs = 5_000;

/** `call`: calls one tool once. */
export const callCommand: CommandDefinition<AdHocFlags & { readonly args?: string }> = {
  usage: 'call [server] [tool] [key=value...]',
  summary: 'call a tool and print its result',
  details:
    "Values are parsed by the tool's schema: numbers, true or false, JSON for lists and objects. " +
    "A value without a key belongs to the next key in the schema's order. SERVER.TOOL works as one word, too, and without the word call: " +
    'troupe SERVER.TOOL key=value. Uses the running troupe. Without one, it starts only this server, ' +
    `calls the tool and stops it. ${adHocDetails}`,
  example: 'troupe call everything get-sum a=2 b=3',
  options: [
    flag('--args <json>', 'all arguments as one JSON object, or @FILE, or - for stdin'),
    ...adHocFlags,
  ],
  async run(session, given, flags) {
    const used = await usedTool(session, given, flags);
    const { server, tool, rest: words, shown } = used;
    if (server === undefined || tool === undefined) throw missingTool(used);
    checkName('tool', tool, 'call');
    const json = flags.args === undefined ? undefined : await readArgs(session, flags.args);
    if (json !== undefined && words.length > 0) {
      throw usageError('pass the arguments as key=value or with --args, not both');
    }
    const { timeoutMs } = session.launch;
    return withTroupe(session, used.target, async (troupe) => {
      const named = { server, timeoutMs: used.timeoutMs };
      // A server of the command line has just been started, for which the call's own deadline may be short.
      const needsTool = words.length > 0 || typeof used.target === 'object';
      const definition = needsTool
        ? await listedTool(session.launch, troupe, named, tool)
        : // With --args, the user may know better than the schema.
          json === undefined &&
          (await listedTools(troupe, named)).find((each) => each.tool === tool);
      const schema = definition ? definition.inputSchema : {};
      const args = json ?? argumentsFromWords(words, schema);
      for (const note of unlistedNotes(args, schema)) session.output.note(note);
      const open = session.host.openFile ?? openLater;
      const requestId =
        troupe.client === undefined ? undefined : answerHere(session, troupe.client, server, open);
      const call = defined({ server, tool, arguments: args, timeoutMs, requestId });
      return showReport(session, await sendCall(session, troupe, call), shown);
    });
  },
};

/** Loaded late: few questions have an address. */
async function openLater(address: string): Promise<boolean> {
  const { openBrowser } = await import('../run/address-file.ts');
  return openBrowser(address);
}

function missingTool({ shown, server }: UsedServer): TroupeError {
  if (server === undefined)
    return usageError(
      'missing server and tool; write troupe call SERVER TOOL; troupe tools lists them',
    );
  return usageError(
    `missing tool; write troupe call ${shown} TOOL; troupe tools ${shown} lists them`,
  );
}

/** Sends the call; if the running troupe only lacks the user's permission, asks for it and repeats the call. */
async function sendCall(
  session: CliSession,
  { request, client }: UsedTroupe,
  call: ControlArgs['call'],
): Promise<CallReport> {
  const { server, tool, arguments: args = {}, timeoutMs = longestCallMs } = call;
  try {
    return await request('call', call, timeoutMs + extraMs);
  } catch (error) {
    const needsPermission = error instanceof TroupeError && error.code === 'PERMISSION_DENIED';
    if (!needsPermission || !error.retryable || client === undefined) throw error;
    const { createPermissionPrompt } = await import('../ask/permission.ts');
    const prompt = createPermissionPrompt(session);
    if (prompt === undefined) throw error;
    const permission = await prompt({ server, tool, arguments: args }, new AbortController());
    return request('call', { ...call, permission }, timeoutMs + extraMs);
  }
}

function showReport({ output }: CliSession, { result, meta }: CallReport, shown: string): number {
  output.document({ result, meta });
  output.lines(resultLines(result));
  if (result.isError !== true) return 0;
  output.note(
    `${meta.tool} of ${meta.server} returned an error; troupe tools ${shown} ${meta.tool} shows its arguments`,
  );
  return toolErrorExitCode;
}

async function readArgs({ host }: CliSession, text: string): Promise<ToolArguments> {
  if (text === '-') return argumentsFromJson(await readAll(host.stdin), 'stdin');
  if (!text.startsWith('@')) return argumentsFromJson(text, '--args');
  const file = path.resolve(host.cwd, text.slice(1));
  try {
    return argumentsFromJson(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    throw usageError(
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
      throw usageError('stdin has more than 16 MB; pass less, for example a file name');
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Handles the questions about a call that runs in the running troupe: at this terminal, or else in another
 * one, with a command that is printed. The call goes on waiting. Another client may answer first.
 * @returns the id to send with the call
 */
function answerHere(
  session: CliSession,
  client: ControlClient,
  server: string,
  open: (address: string) => Promise<boolean>,
): string {
  let prompt: QuestionHandler | undefined;
  const requestId = randomUUID();
  const asking = new Map<string, AbortController>();
  const answer = async (question: Question): Promise<void> => {
    // Loaded with the first question: most calls have none.
    const { createQuestionPrompt, noteQuestion } = await import('../ask/question-prompt.ts');
    prompt ??= createQuestionPrompt(session, open);
    if (prompt === undefined || question.kind === 'sampling')
      return noteQuestion(session, question);
    const controller = new AbortController();
    const { id } = question;
    asking.set(id, controller);
    const given = await prompt(question, { signal: controller.signal });
    asking.delete(id);
    if (given === undefined || controller.signal.aborted) return;
    const content = 'content' in given ? given.content : undefined;
    await client.request('answer', defined({ id, action: given.action, content }));
  };
  // A question that names no call may be about this one.
  const isMine = ({ requestId: of, tool, ...question }: Question): boolean =>
    of === undefined ? tool === undefined && question.server === server : of === requestId;
  const follow = client.follow(['question.asked', 'question.settled'], (event) => {
    if (event.type === 'question.settled') asking.get(event.id)?.abort();
    if (event.type !== 'question.asked' || !isMine(event.question)) return;
    // It fails when another client has answered meanwhile or the call is over.
    answer(event.question).catch(() => undefined);
  });
  // The call itself reports that the troupe ended.
  follow.catch(() => undefined);
  return requestId;
}
