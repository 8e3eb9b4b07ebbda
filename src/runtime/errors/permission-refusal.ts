/** Errors of calls that were not allowed. */

import type { PermissionDenial, PermissionPattern } from '../../domain/permission.ts';
import type { SourceRef } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { toolChangedWhileAsked } from './call-refusal.ts';

/** The rule that decided about a call, and where it is written. */
export interface DecidingRule {
  readonly pattern: PermissionPattern;
  readonly source: SourceRef;
}

const reasons: Readonly<
  Record<
    Exclude<PermissionDenial, 'toolChanged'>,
    (tool: ExposedTool, rule: DecidingRule | undefined) => string
  >
> = {
  rule: ({ name }, rule) =>
    `${inWords(rule)} denies it. Change it there, or do without; the exposed name is ${name}`,
  host: () => 'the host denies it. Do without it, or ask whoever runs the host',
  person: () => 'a person said no. Ask why before you call it again',
  noPerson: ({ server, tool }, rule) =>
    `${rule === undefined ? 'a person must allow it' : `${inWords(rule)} wants a person to allow it`} and nobody could be asked. Run it at a terminal with troupe call, or allow it in settings of your own: { "mcp": { "permissions": { "allow": [${JSON.stringify({ server, tool })}] } } }`,
  late: () => 'nobody answered in time whether it may. Call again when somebody is there to answer',
  broken: () => 'the host failed while it decided. See its warnings and mend its callback',
  nonsense: () =>
    'what was answered is none of allow, allowTool, allowServer and deny. Mend askPermission',
  hookNonsense: () =>
    'what the host answered is none of allow, ask and deny. Mend its permission hook',
};

// Another attempt is worth it only where a person may still say yes.
const mayBeAskedAgain: ReadonlySet<PermissionDenial> = new Set(['noPerson', 'late']);

export function denied(
  shown: ExposedTool,
  why: PermissionDenial,
  rule?: DecidingRule,
): TroupeError {
  if (why === 'toolChanged') return toolChangedWhileAsked(shown);
  const { server, tool } = shown;
  return new TroupeError(
    'PERMISSION_DENIED',
    `Tool ${tool} of ${server} was not called: ${reasons[why](shown, rule)}.`,
    { server, tool, retryable: mayBeAskedAgain.has(why) },
  );
}

function inWords(rule: DecidingRule | undefined): string {
  if (rule === undefined) return 'a rule of the settings';
  const { pattern, source } = rule;
  const { file, key, line } = source;
  const place = file === undefined ? '' : ` of ${file}${line === undefined ? '' : `:${line}`}`;
  return `the rule ${JSON.stringify(pattern)} in ${key}${place}`;
}
