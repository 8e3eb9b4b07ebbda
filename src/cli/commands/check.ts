import { exitCodeFor } from '../../domain/caller-code.ts';
import type { ReportedProblem } from '../../domain/settings.ts';
import { type CommandDefinition, flag } from '../command.ts';
import { launchToRead } from '../control/running-troupe.ts';
import { noServers, settingsOptionsOf } from '../launch.ts';
import { counted } from '../show/counted.ts';
import type { Paint } from '../show/output.ts';
import { placedProblem } from '../show/status-lines.ts';

/** `check`: every problem of every settings file, for CI. */
export const checkCommand: CommandDefinition<{ readonly strict?: true }> = {
  usage: 'check',
  summary: 'check the settings files that up would read; starts nothing',
  details:
    'Reads the files of the running troupe, if there is one, unless --config names others. Prints every problem as FILE:LINE: KEY: MESSAGE and exits with 2 if there is an error. A variable that is not ' +
    'set, an unreadable envFile and a command that is not on PATH are warnings. Values of the keychain and of commands are not read.',
  example: 'troupe check --config troupe.json --strict',
  options: [flag('--strict', 'exit with 2 for warnings as well')],
  async run({ host, launch, output }, _args, { strict = false }) {
    // Loaded late: it needs Zod.
    const { checkSettings } = await import('../../runtime/previews/check-settings.ts');
    const read = await launchToRead(launch);
    const report = await checkSettings({ ...settingsOptionsOf(read), env: host.env });
    output.document(report);
    const { files, problems } = report;
    output.lines(problems.map((problem) => problemLine(problem, output.paint)));
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    const warnings = problems.length - errors;
    const servers = files.reduce((sum, file) => sum + file.servers, 0);
    output.lines([
      `${counted(files.length, 'file')}, ${counted(servers, 'server')}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`,
    ]);
    if (files.length === 0 && problems.length === 0) output.lines([noServers(launch)]);
    return errors > 0 || (strict && warnings > 0)
      ? exitCodeFor({ code: 'INVALID_CONFIG', outcome: 'not_executed' })
      : 0;
  },
};

function problemLine(problem: ReportedProblem, paint: Paint): string {
  const isError = problem.severity === 'error';
  const { message } = problem;
  const text = placedProblem(
    { ...problem, message: isError ? message : `warning: ${message}` },
    ': ',
  );
  return paint(isError ? 'red' : 'yellow', text);
}
