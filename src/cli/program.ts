/** The command line: commands, common flags and exit codes. */

import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { printableLine } from '../domain/data/printable.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { withDashes } from './add-words.ts';
import type { CliHost } from './cli-host.ts';
import { type CommandDefinition, type FlagDefinition, nameOf } from './command.ts';
import { approvalCommands } from './commands/approve.ts';
import { callCommand } from './commands/call.ts';
import { checkCommand } from './commands/check.ts';
import { completionCommand } from './commands/completion.ts';
import { connectCommands } from './commands/connect.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommand } from './commands/events.ts';
import { explainCommand } from './commands/explain.ts';
import { helpCommand } from './commands/help.ts';
import { importCommand, initCommand } from './commands/import.ts';
import { inspectCommand } from './commands/inspect.ts';
import { loginCommands } from './commands/login.ts';
import { logsCommand } from './commands/logs.ts';
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
import { completeCommand } from './completion/scripts.ts';
import { completeWords, type Suggestions } from './completion/words.ts';
import type { CommonFlags } from './launch.ts';
import { reportError, runCommand } from './run-command.ts';
import { runShortForm, type ShortForm } from './short-form.ts';
import { widthOf } from './show/output.ts';
import { usageErrorOf } from './usage-errors.ts';

/** Shells show a note on one line beside the word, and cut it. */
const longestNote = 200;

/** In the order of the help, below their headings. */
const groups: Readonly<Record<string, readonly CommandDefinition[]>> = {
  Run: [upCommand, serveCommand, ...serverCommands],
  Look: [
    statusCommand,
    explainCommand,
    logsCommand,
    planCommand,
    eventsCommand,
    inspectCommand,
    replayCommand,
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
  let exitCode = 0;
  let short: ShortForm | undefined;
  const onExitCode = (code: number): void => {
    exitCode = code;
  };
  const program = createProgram(host, onExitCode, (operands, options) => {
    short = { operands, options };
  });
  try {
    await program.parseAsync([...withDashes(host.argv, commands)], { from: 'user' });
    if (short !== undefined) await runShortForm(program, host, short);
    return exitCode;
  } catch (error) {
    // Help or the version was printed.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const isUsage = error instanceof CommanderError;
    return reportError(host, isUsage ? usageErrorOf(error, 'troupe --help') : error);
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
      throw error instanceof TroupeError ? new InvalidArgumentError(error.message) : error;
    }
  });
}
