import type { ExposedPrompt } from '../../domain/catalog.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError, usageError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import type { CliSession, CommandDefinition } from '../command.ts';
import { checkName } from '../flag-values.ts';
import { type AdHocFlags, adHocDetails, adHocFlags } from '../run/ad-hoc.ts';
import { requestMs, type UsedServer, usedServer } from '../run/used-tool.ts';
import type { UsedTroupe } from '../run/used-troupe.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { columnsOf, cutTo } from '../show/table.ts';
import { resultLines } from '../show/tool-result-text.ts';

const longestLine = 4_000;

/** `prompts`: lists prompts. */
const promptsCommand: CommandDefinition<AdHocFlags> = {
  usage: 'prompts [server]',
  summary: 'list the prompts of all servers or of one, with their arguments',
  details: `Uses the running troupe. Without one, it starts the servers, lists their prompts and stops them. ${adHocDetails}`,
  example: 'troupe prompts docs',
  options: adHocFlags,
  async run(session, words, flags) {
    const used = usedServer(session, words, flags);
    if (used.rest.length > 0) throw usageError('too many arguments; see troupe help prompts');
    return withTroupe(session, used.target, async (troupe) => {
      const prompts = await listedPrompts(troupe, used);
      session.output.document({ prompts });
      if (prompts.length === 0) session.output.lines(['no prompts']);
      session.output.lines(
        prompts.flatMap((prompt) => promptLines(session, prompt, used.server === undefined)),
      );
      return 0;
    });
  },
};

/** `prompt`: fills in one prompt. */
const promptCommand: CommandDefinition<AdHocFlags> = {
  usage: 'prompt [server] [prompt] [key=value...]',
  summary: 'fill in a prompt and print its messages',
  details: `Uses the running troupe. Without one, it starts only this server. ${adHocDetails}`,
  example: 'troupe prompt docs summarize topic=charts',
  options: adHocFlags,
  async run(session, words, flags) {
    const used = usedServer(session, words, flags);
    const { server, timeoutMs, rest, shown } = used;
    const [name, ...pairs] = rest;
    if (server === undefined || name === undefined) {
      const list = server === undefined ? 'troupe prompts' : `troupe prompts ${shown}`;
      throw usageError(
        `write troupe prompt ${shown === '' ? 'SERVER' : shown} NAME [key=value...]; ${list} lists the prompts`,
      );
    }
    checkName('prompt', name, 'prompt');
    const args = argumentsOf(pairs);
    return withTroupe(session, used.target, async (troupe) => {
      const prompts = await listedPrompts(troupe, used);
      checkArguments(name, args, prompts, used);
      const asked = { server, prompt: name, arguments: args, timeoutMs };
      const report = await troupe.request('getPrompt', asked, requestMs(timeoutMs));
      session.output.document(report);
      session.output.lines(
        report.result.messages.flatMap((message) => messageLines(session, message)),
      );
      return 0;
    });
  },
};

export const promptCommands = [promptsCommand, promptCommand];

async function listedPrompts(
  { request }: UsedTroupe,
  { server, timeoutMs }: UsedServer,
): Promise<readonly ExposedPrompt[]> {
  return (await request('prompts', defined({ server, timeoutMs }), requestMs(timeoutMs))).prompts;
}

/** The protocol knows only strings as arguments of prompts. */
function argumentsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, at);
    if (at < 1) throw invalid(`${pair} is not an argument of a prompt; write key=value`);
    if (values.has(key)) throw invalid(`${key} was given twice; use it once`);
    values.set(key, pair.slice(at + 1));
  }
  return Object.fromEntries(values);
}

/** A prompt that is not listed is left to the server, unless its name looks mistyped. */
function checkArguments(
  name: string,
  args: Readonly<Record<string, string>>,
  prompts: readonly ExposedPrompt[],
  { server = '' }: UsedServer,
): void {
  const prompt = prompts.find((each) => each.name === name);
  if (prompt === undefined) {
    const closest = closestName(
      name,
      prompts.map((each) => each.name),
    );
    if (closest === undefined) return;
    throw invalid(`there is no prompt ${name} on ${server}; did you mean ${closest}?`);
  }
  const known = prompt.arguments ?? [];
  const names = known.map((each) => each.name);
  const unknown = Object.keys(args).find((key) => !names.includes(key));
  if (unknown !== undefined) {
    const closest = closestName(unknown, names);
    const use = names.length === 0 ? 'it takes no arguments' : `use ${names.join(', ')}`;
    const next = closest === undefined ? use : `did you mean ${closest}?`;
    throw invalid(`the prompt has no argument ${unknown}; ${next}`);
  }
  const missing = known.find((each) => each.required === true && args[each.name] === undefined);
  if (missing !== undefined) throw invalid(`${missing.name} is missing; add ${missing.name}=…`);
}

function promptLines(
  { output }: CliSession,
  { server, name, title, description, arguments: args = [], catalog }: ExposedPrompt,
  hasServers: boolean,
): string[] {
  const words = args.map((each) => (each.required === true ? each.name : `${each.name}?`));
  const where = hasServers ? `${server} ` : '';
  const signature = printableLine(`${where}${name}(${words.join(', ')})`, longestLine);
  const known = catalog === 'live' ? '' : ` [${catalog}]`;
  const about = `${printableLine(description ?? title ?? '', longestLine)}${known}`.trim();
  const whole = about === '' ? signature : `${signature} — ${about}`;
  const head =
    columnsOf(whole) <= output.width || about === '' ? [whole] : [signature, `  ${about}`];
  const rows = args
    .filter((each) => each.description !== undefined)
    .map((each) => printableLine(`${each.name}: ${each.description}`, longestLine));
  return [...head, ...rows.map((row) => `    ${row}`)].map((line) => cutTo(line, output.width));
}

function messageLines(
  { output }: CliSession,
  { role, content }: Readonly<Record<string, unknown>>,
): string[] {
  const blocks = [content].flat() as Readonly<Record<string, unknown>>[];
  const who = printableLine(typeof role === 'string' ? role : '', 100);
  return [output.paint('bold', `${who}:`), ...resultLines({ content: blocks })];
}

function invalid(message: string): TroupeError {
  return argumentsError(printableLine(message, 1_000));
}
