/** The command line: commands, common flags and exit codes. */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { printableLine } from '../domain/data/printable.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { usageError } from '../domain/user-errors.ts';
import { namesMeant } from '../policies/text/closest-name.ts';
import type { CliHost } from './cli-host.ts';
import { type CommandDefinition, type FlagDefinition, nameOf } from './command.ts';
import { approvalCommands } from './commands/approve.ts';
import { callCommand } from './commands/call.ts';
import { chartsCommand } from './commands/charts.ts';
import { checkCommand } from './commands/check.ts';
import { connectCommands } from './commands/connect.ts';
import { doctorCommand } from './commands/doctor.ts';
import { explainCommand } from './commands/explain.ts';
import { helpCommand, unknownCommand } from './commands/help.ts';
import { importCommand, initCommand } from './commands/import.ts';
import { inspectCommand } from './commands/inspect.ts';
import { ledgerCommand } from './commands/ledger.ts';
import { loginCommands } from './commands/login.ts';
import { eventsCommand, logsCommand } from './commands/logs.ts';
import { permissionsCommand } from './commands/permissions.ts';
import { planCommand } from './commands/plan.ts';
import { promptCommands } from './commands/prompts.ts';
import { answerCommand, questionsCommand } from './commands/questions.ts';
import { replayCommand } from './commands/replay.ts';
import { resourceCommands } from './commands/resources.ts';
import { serveCommand } from './commands/serve.ts';
import { serverCommands } from './commands/server-control.ts';
import { settingsCommands } from './commands/settings.ts';
import { statusCommand } from './commands/status.ts';
import { toolsCommand, typesCommand } from './commands/tools.ts';
import { upCommand } from './commands/up.ts';
import { commonFlags } from './common-flags.ts';
import { completeCommand, completionCommand } from './completion/scripts.ts';
import { completeWords, type Suggestions } from './completion/words.ts';
import { backgroundCommand } from './control/start.ts';
import { type CommonFlags, launchOf } from './launch.ts';
import { isAdHocWord } from './run/ad-hoc.ts';
import { serverNames } from './run/used-tool.ts';
import { reportError, runCommand } from './run-command.ts';
import { widthOf } from './show/output.ts';
import { mayBeJoined } from './tool-target.ts';

/** Shells show a note on one line beside the word, and cut it. */
const longestNote = 200;

/** In the order of the help, below their headings. */
const groups: Readonly<Record<string, readonly CommandDefinition[]>> = {
  Run: [upCommand, serveCommand, ...serverCommands],
  Look: [
    statusCommand,
    explainCommand,
    logsCommand,
    ledgerCommand,
    planCommand,
    eventsCommand,
    inspectCommand,
    replayCommand,
    chartsCommand,
  ],
  Use: [toolsCommand, callCommand, ...resourceCommands, ...promptCommands, typesCommand],
  Decide: [
    ...approvalCommands,
    permissionsCommand,
    questionsCommand,
    answerCommand,
    ...loginCommands,
  ],
  Settings: [initCommand, importCommand, ...settingsCommands, checkCommand, doctorCommand],
  'Hosts and shells': [...connectCommands, completionCommand],
};
const commands: readonly CommandDefinition[] = Object.values(groups).flat();

/** Longer usages would leave too little of 80 columns for the summaries. */
const longestTerm = 30;

/** Runs a command line and resolves with the exit code. Never rejects. */
export async function runCli(host: CliHost): Promise<number> {
  if (host.argv[0] === completeCommand) return answerShell(host, host.argv.slice(1));
  if (host.argv[0] === backgroundCommand) return runBackground(host);
  let exitCode = 0;
  let short: ShortForm | undefined;
  const onExitCode = (code: number): void => {
    exitCode = code;
  };
  const program = createProgram(host, onExitCode, (operands, options) => {
    short = { operands, options };
  });
  try {
    await program.parseAsync([...withDashes(host.argv)], { from: 'user' });
    if (short !== undefined) await runShortForm(program, host, short);
    return exitCode;
  } catch (error) {
    // Help or the version was printed.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const isUsage = error instanceof CommanderError;
    return reportError(host, isUsage ? usageErrorOf(error, 'troupe --help') : error);
  }
}

/** Runs the troupe that commands share; whatever it prints is in its log. */
async function runBackground(host: CliHost): Promise<number> {
  try {
    const { backgroundDefinition } = await import('./background/background-troupe.ts');
    const flags = JSON.parse(host.argv[1] ?? '{}') as CommonFlags;
    return await runCommand(host, backgroundDefinition, [], flags);
  } catch (error) {
    return reportError(host, error);
  }
}

/** Prints suggestions for a completion script, but no errors, because the user is typing. */
async function answerShell(host: CliHost, words: readonly string[]): Promise<number> {
  try {
    const program = createProgram(host, () => undefined);
    const suggestions = await completeWords(program, words, host);
    host.stdout.write(`${suggestionLines(suggestions).join('\n')}\n`);
    return 0;
  } catch {
    return 1;
  }
}

function suggestionLines(suggestions: Suggestions): readonly string[] {
  if (suggestions.kind !== 'words') return [suggestions.kind];
  const words = suggestions.words.map(({ word, note }) =>
    note === undefined || note === '' ? word : `${word}\t${printableLine(note, longestNote)}`,
  );
  return ['words', ...words];
}

/**
 * Builds the program.
 *
 * @param onExitCode - receives the command's exit code
 * @param onNoCommand - receives the words and flags of a line without a command
 */
export function createProgram(
  host: CliHost,
  onExitCode: (code: number) => void,
  onNoCommand: (operands: string[], options: string[]) => void = () => undefined,
): Command {
  const program = new Command('troupe')
    .description(
      'Runs MCP servers, keeps them connected, and asks before it starts servers from a project folder.',
    )
    .version(host.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf })
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      // `runCli` prints errors, as text or JSON.
      writeErr: () => undefined,
      ...(host.stdout.columns === undefined ? {} : { getOutHelpWidth: () => widthOf(host.stdout) }),
    })
    .helpCommand(false)
    .exitOverride()
    .allowExcessArguments(false);
  for (const each of commonFlags) program.addOption(optionOf(each));
  for (const [heading, definitions] of Object.entries(groups))
    for (const definition of definitions)
      addCommand(program, definition, host, onExitCode).helpGroup(`${heading}:`);
  addCommand(program, helpCommand(program), host, onExitCode).helpGroup('Hosts and shells:');
  program.on('command:*', onNoCommand);
  program.addHelpText('after', '\nExample:\n  troupe up --config troupe.json\n');
  return program;
}

function addCommand(
  program: Command,
  definition: CommandDefinition,
  host: CliHost,
  onExitCode: (code: number) => void,
): Command {
  const details = definition.details === undefined ? '' : `\n\n${definition.details}`;
  const command = program
    .command(definition.usage)
    .summary(definition.summary)
    .description(`${definition.summary}${details}`)
    .addHelpText('after', `\nExample:\n  ${definition.example}\n`);
  if (definition.aliases !== undefined) command.aliases([...definition.aliases]);
  command.exitOverride((error) => {
    const help = `troupe help ${nameOf(definition)}`;
    throw error.exitCode === 0 ? error : usageErrorOf(error, help, definition.choices);
  });
  if (definition.choices !== undefined) command.registeredArguments[0]?.choices(definition.choices);
  for (const each of definition.options ?? []) command.addOption(optionOf(each));
  command.action(async () => {
    const words = command.processedArgs
      .flat()
      .filter((arg): arg is string => typeof arg === 'string');
    onExitCode(await runCommand(host, definition, words, command.optsWithGlobals<CommonFlags>()));
  });
  return command;
}

/** A command in the list of commands. Its own help shows its flags and its other names. */
function termOf(command: Command): string {
  const { usage } = commands.find((each) => nameOf(each) === command.name()) ?? {
    usage: command.name(),
  };
  return usage.length <= longestTerm ? usage : `${command.name()} ...`;
}

function optionOf({ flags, description, choices, preset, parse }: FlagDefinition): Option {
  const option = new Option(flags, description);
  if (choices !== undefined) option.choices(choices);
  if (preset !== undefined) option.preset(preset);
  if (parse === undefined) return option;
  return option.argParser((text, previous) => {
    try {
      return parse(text, previous as never);
    } catch (error) {
      const isUsage = error instanceof TroupeError && error.code === 'USAGE';
      throw isUsage ? new InvalidArgumentError(error.message) : error;
    }
  });
}

/**
 * Inserts the missing `--` before the command, if a word that begins with `-` follows it. Other lines are
 * returned unchanged.
 * @throws TroupeError `USAGE` if a flag behind the command could be ours or the command's
 */
export function withDashes(argv: readonly string[]): readonly string[] {
  const add = commands.find((each) => nameOf(each) === 'add');
  if (add === undefined || argv[0] !== 'add' || argv.includes('--')) return argv;
  const takesValue = new Map(
    [...commonFlags, ...(add.options ?? [])].map(({ flags }) => [
      flags.split(' ', 1)[0] ?? '',
      flags.includes('<'),
    ]),
  );
  let operands = 0;
  for (let at = 1; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word.startsWith('-')) at += takesValue.get(word) === true ? 1 : 0;
    else operands += 1;
    if (operands < 2) continue;
    const own = argv.slice(at);
    const isOurs = (each: string): boolean => takesValue.has(each.split('=', 1)[0] ?? '');
    // Flags of ours alone may follow, as they always could.
    if (!own.some((each) => each.startsWith('-') && !isOurs(each) && !/^-h$|^--help$/u.test(each)))
      return argv;
    const both = own.find(isOurs);
    if (both === undefined) return [...argv.slice(0, at), '--', ...own];
    throw usageError(
      `${both} may be meant for troupe or for the command; write troupe's flags, then --, then the command`,
    );
  }
  return argv;
}

/** The words of a line whose first word is not a command. */
interface ShortForm {
  readonly operands: readonly string[];
  /** Flags that are not common to all commands, with what follows them. */
  readonly options: readonly string[];
}

/**
 * Runs the command that the line is short for.
 * @throws TroupeError `USAGE` if the first word names neither a server nor a tool
 */
async function runShortForm(
  program: Command,
  host: CliHost,
  { operands, options }: ShortForm,
): Promise<void> {
  const [first = '', ...more] = operands;
  const names = isAdHocWord(first) ? [] : await namesIn(program, host);
  const isServer = isAdHocWord(first) || names.includes(first);
  // The other commands' names have no dots, so this can only be meant as a tool.
  if (!isServer && !mayBeJoined(first)) throw unknownCommand(first, program, names);
  const name = isServer && more.length === 0 ? 'tools' : 'call';
  const command = program.commands.find((each) => each.name() === name);
  await command?.parseAsync([...operands, ...options], { from: 'user' });
}

/** The servers' names; none if the settings cannot be read, which the commands report. */
async function namesIn(program: Command, host: CliHost): Promise<readonly string[]> {
  const flags = program.opts<CommonFlags>();
  try {
    return await serverNames(launchOf(flags, host.cwd, host.env, host.managedSettings));
  } catch {
    return [];
  }
}

/** Enough for a sentence with two paths. */
const longestMessage = 1_000;

/** Commander's words for an argument that is none of its choices. */
const notAllowed =
  /^command-argument value '(.*)' is invalid for argument '(\w+)'\. Allowed choices are (.*?)\.?$/u;

/**
 * Rewrites commander's message in our style; commander writes `error: …` and its guess on a second line.
 *
 * @param help - the command that prints the help
 * @param choices - the values of the command's first argument, if it has a list of them
 */
function usageErrorOf(
  error: CommanderError,
  help: string,
  choices?: readonly string[],
): TroupeError {
  // Thrown after printing the help, when no command was given.
  const text = error.code === 'commander.help' ? 'no command was given' : error.message;
  const [said = '', guess] = text.replace(/^error: /, '').split('\n');
  const [, value, name, list] = notAllowed.exec(said) ?? [];
  if (value !== undefined && list !== undefined) {
    const meant = namesMeant(value, list.split(', '));
    const next =
      meant.length === 0
        ? `use one of ${list}; see ${help}`
        : `did you mean ${meant.join(' or ')}?`;
    const kind = `${/^[aeiou]/u.test(name ?? '') ? 'an' : 'a'} ${name}`;
    return usageError(`${printableLine(value, 100)} is not ${kind}; ${next}`);
  }
  const [, absent] = /^missing required argument '(\w+)'/u.exec(said) ?? [];
  if (absent !== undefined && choices !== undefined)
    return usageError(`the ${absent} is missing; use one of ${choices.join(', ')}; see ${help}`);
  const meant = guess?.match(/Did you mean (.*)\?\)$/)?.[1];
  const next =
    meant === undefined ? `${asArgument(said, help)}see ${help}` : `did you mean ${meant}?`;
  return usageError(printableLine(`${said.replace(/\.$/, '')}; ${next}`, longestMessage));
}

/** Says how to write an argument of a tool, a prompt or a form that was written as a flag. */
function asArgument(said: string, help: string): string {
  const [, option] = /^unknown option '--([\w.-]+)/u.exec(said) ?? [];
  const takesArguments = /\b(?:call|prompt|answer)$/u.test(help);
  return option !== undefined && takesArguments ? `write an argument as ${option}=VALUE, or ` : '';
}
