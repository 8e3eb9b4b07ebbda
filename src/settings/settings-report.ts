import type { Problem, ReportedProblem, Settings, SettingsReport } from '../domain/settings.ts';
import type { ParsedSettings } from './parse-settings.ts';

interface ReadFile extends Pick<SettingsReport['files'][number], 'file' | 'scope'> {
  readonly parsed: ParsedSettings;
}

/**
 * Reports what a reading found in each file. An entry that another layer replaces is reported too, because
 * its mistake shows once that layer is gone.
 */
export function settingsReportOf(
  { problems, servers }: Pick<Settings, 'problems' | 'servers'>,
  read: readonly ReadFile[],
): SettingsReport {
  const present = read.filter(
    ({ parsed }) => parsed.document !== undefined || parsed.problems.length > 0,
  );
  const written = present.flatMap(({ parsed }) => parsed.document?.servers ?? []);
  const invalid = [...written.map(({ desired }) => desired), ...servers].flatMap(
    (desired) => desired.invalid ?? [],
  );
  const files = present.map(({ file, scope, parsed }) => ({
    file,
    scope,
    servers: parsed.document?.servers.length ?? 0,
  }));
  return { files, problems: inOrder(files, [...problems, ...invalid]) };
}

/** Adds problems to a report. */
export function withProblems(
  { files, problems }: SettingsReport,
  more: readonly Problem[],
): SettingsReport {
  return { files, problems: inOrder(files, [...problems, ...more]) };
}

function inOrder(
  files: SettingsReport['files'],
  problems: readonly Problem[],
): readonly ReportedProblem[] {
  const places = new Map(files.map(({ file }, index) => [file, index]));
  const placeOf = ({ file }: ReportedProblem): number => places.get(file) ?? files.length;
  // Several readers of one entry may report the same.
  const distinct = new Map<string, ReportedProblem>();
  for (const { severity = 'error', ...problem } of problems) {
    const { file, line, key, message } = problem;
    distinct.set(JSON.stringify([file, line, key, message]), { ...problem, severity });
  }
  return [...distinct.values()].sort(
    (a, b) => placeOf(a) - placeOf(b) || (a.line ?? 0) - (b.line ?? 0),
  );
}
