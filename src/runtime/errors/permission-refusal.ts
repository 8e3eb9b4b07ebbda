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
  host: () => 'the host denies it. Do without it, or change the host',
  user: () => 'the user said no. Ask why before you call it again',
  noUser: ({ server, tool }, rule) =>
    `${rule === undefined ? 'the user must allow it' : `${inWords(rule)} requires the user to allow it`}, and no user could be asked. Run it at a terminal with troupe call, or allow it in settings of your own: { "mcp": { "permissions": { "allow": [${JSON.stringify({ server, tool })}] } } }`,
  late: () => 'no answer came in time. Call again when the user can answer',
  broken: () => 'the host failed while it decided. See its warnings and fix its callback',
  nonsense: () => 'the answer is none of allow, allowTool, allowServer and deny. Fix askPermission',
  hookNonsense: () => 'the host answered none of allow, ask and deny. Fix its permission hook',
};

// A retry may succeed only where the user may still say yes.
const retryable: ReadonlySet<PermissionDenial> = new Set(['noUser', 'late']);

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
    { server, tool, retryable: retryable.has(why) },
  );
}

function inWords(rule: DecidingRule | undefined): string {
  if (rule === undefined) return 'a rule of the settings';
  const { pattern, source } = rule;
  const { file, key, line } = source;
  const place = file === undefined ? '' : ` of ${file}${line === undefined ? '' : `:${line}`}`;
  return `the rule ${JSON.stringify(pattern)} in ${key}${place}`;
}
