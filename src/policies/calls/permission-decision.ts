/** Decides whether a call is allowed, needs the user's permission, or is denied. The strictest verdict counts. */

import {
  type PermissionChoice,
  type PermissionPattern,
  type PermissionRules,
  type PermissionVerdict,
  permissionVerdicts,
} from '../../domain/permission.ts';
import { matchesGlob } from '../text/glob.ts';
import type { ServerInName } from '../tools/name.ts';

/** A tool by all its names. */
export interface PermittedTool {
  readonly server: string;
  readonly tool: string;
  /** The exposed name. */
  readonly name: string;
}

/**
 * Returns the verdict of one set of rules on a tool; undefined = none.
 *
 * An exposed name may be ambiguous: `db__x__q` is `x__q` of `db` or `q` of `db__x`. A pattern that
 * certainly means one of them does not affect the other. A pattern that may mean either asks or
 * denies for both, and allows neither.
 *
 * @param servers - all servers; absent when the names belong to one server
 */
export function verdictByRules(
  rules: PermissionRules,
  tool: PermittedTool,
  servers?: readonly ServerInName[],
): PermissionVerdict | undefined {
  const mayMean = (pattern: PermissionPattern): boolean => meaning(pattern, tool, servers) !== 'no';
  const means = (pattern: PermissionPattern): boolean => meaning(pattern, tool, servers) === 'yes';
  if (rules.deny?.some(mayMean) === true) return 'deny';
  if (rules.ask?.some((one) => !isPattern(one) && mayMean(one)) === true) return 'ask';
  if (rules.allow?.some((one) => !isPattern(one) && means(one)) === true) return 'allow';
  if (rules.ask?.some(mayMean) === true) return 'ask';
  return rules.allow?.some(means) === true ? 'allow' : undefined;
}

/** Returns the pattern that holds a tool back, preferably an exact one; undefined when none does. */
export function patternBehind(
  rules: PermissionRules,
  tool: PermittedTool,
  verdict: 'ask' | 'deny',
  servers?: readonly ServerInName[],
): PermissionPattern | undefined {
  const fitting = (rules[verdict] ?? []).filter((one) => meaning(one, tool, servers) !== 'no');
  return fitting.find((pattern) => !isPattern(pattern)) ?? fitting[0];
}

/** Returns the strictest verdict; undefined without any. */
export function strictestVerdict(
  ...voices: readonly (PermissionVerdict | undefined)[]
): PermissionVerdict | undefined {
  return permissionVerdicts.findLast((verdict) => voices.includes(verdict));
}

/** A tool and its server, in their present form. */
export interface ChoiceSubject {
  readonly server: string;
  readonly fingerprint: string;
  readonly tool: string;
  readonly digest: string;
}

/** Returns whether the user allowed this and further calls. */
export function isRemembered(
  choices: readonly PermissionChoice[],
  { server, fingerprint, tool, digest }: ChoiceSubject,
): boolean {
  return choices.some(
    (choice) =>
      choice.server === server &&
      choice.fingerprint === fingerprint &&
      (choice.tool === undefined || (choice.tool === tool && choice.digest === digest)),
  );
}

type Meaning = 'yes' | 'maybe' | 'no';

/** Returns whether a pattern matches this tool of this server. */
function meaning(
  pattern: PermissionPattern,
  { server, tool, name }: PermittedTool,
  servers: readonly ServerInName[] | undefined,
): Meaning {
  if (typeof pattern !== 'string') {
    return pattern.server === server && matchesGlob(pattern.tool ?? '*', tool) ? 'yes' : 'no';
  }
  if (!matchesGlob(pattern, name)) return 'no';
  if (servers === undefined) return 'yes';
  const own = servers.find((one) => one.server === server);
  if (own === undefined) return 'maybe';
  const [head = ''] = pattern.split('*', 1);
  const names = ({ place }: ServerInName): boolean =>
    place !== undefined && head.startsWith(place.prefix);
  const namesOther = servers.some((one) => one !== own && names(one));
  if (names(own)) return namesOther ? 'maybe' : 'yes';
  if (namesOther) return 'no';
  // The star covers the rest of the server's name or all of it. But `db__*` contains a complete
  // server name, which is another one, whether or not that server exists now.
  const { lead, parting } = own.place ?? { lead: '', parting: undefined };
  return parting !== undefined && head.slice(lead.length).includes(parting) ? 'maybe' : 'yes';
}

function isPattern(pattern: PermissionPattern): boolean {
  return (typeof pattern === 'string' ? pattern : (pattern.tool ?? '*')).includes('*');
}
