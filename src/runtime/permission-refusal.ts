/** What a call is told that nobody allowed. */

import type { ExposedTool } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';

/** Why a call may not go out. */
export type Denial =
  | 'rule'
  | 'host'
  | 'person'
  | 'nobody'
  | 'late'
  | 'broken'
  | 'nonsense'
  | 'hookNonsense';

const reasons: Readonly<Record<Denial, (tool: ExposedTool) => string>> = {
  rule: ({ name }) =>
    `a rule of the settings denies it. See the permissions there; the exposed name is ${name}`,
  host: () => 'the host denies it. Do without it, or ask whoever runs the host',
  person: () => 'a person said no. Ask why before you call it again',
  nobody: ({ name }) =>
    `a person must allow it and nobody could be asked. Run it at a terminal with troupe call, or allow it in settings of your own: { "mcp": { "permissions": { "allow": ["${name}"] } } }`,
  late: () => 'nobody answered in time whether it may. Call again when somebody is there to answer',
  broken: () => 'the host failed while it decided. See its warnings and mend its callback',
  nonsense: () =>
    'what was answered is none of allow, allowTool, allowServer and deny. Mend askPermission',
  hookNonsense: () =>
    'what the host answered is none of allow, ask and deny. Mend its permission hook',
};

// Another attempt is worth it only where a person may still say yes.
const mayBeAskedAgain: ReadonlySet<Denial> = new Set(['nobody', 'late']);

export function denied(shown: ExposedTool, why: Denial): TroupeError {
  const { server, tool } = shown;
  return new TroupeError(
    'PERMISSION_DENIED',
    `Tool ${tool} of ${server} was not called: ${reasons[why](shown)}.`,
    { server, tool, retryable: mayBeAskedAgain.has(why) },
  );
}
