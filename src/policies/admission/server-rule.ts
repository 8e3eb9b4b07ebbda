/**
 * Limiting lists may identify a server by its command or address, because a name says
 * nothing about either. Values are compared as written: a reference such as `${VAR}`
 * is not known yet, so it matches every exclusion and no permission.
 */

import {
  isRemote,
  type RemoteSpec,
  type ServerSpec,
  type StdioSpec,
} from '../../domain/server-spec.ts';
import { matchesGlob } from '../text/glob.ts';

/** One entry of a list: a name, a command or an address. `*` stands for any characters. */
export type ServerRule =
  | string
  /** A program, whatever its arguments, or the whole command line. */
  | { readonly command: string | readonly string[] }
  /** Without a path it covers all paths. */
  | { readonly url: string };

/** Returns whether a list forbids a server by its command or address. */
export function isForbidden(rules: readonly ServerRule[], spec: ServerSpec | undefined): boolean {
  return spec !== undefined && rules.some((rule) => fits(rule, spec, 'possibly'));
}

/**
 * Returns whether a list allows a server by its command or address; undefined when only its
 * names apply to servers of this kind. A list with commands decides about all local servers by
 * their commands, and one with addresses about all remote servers. Otherwise an allowed name
 * would let any program run.
 */
export function isAllowedByRule(
  rules: readonly ServerRule[],
  spec: ServerSpec | undefined,
): boolean | undefined {
  if (spec === undefined || spec.type === 'memory') return undefined;
  const kind = isRemote(spec.type) ? 'url' : 'command';
  const judges = rules.filter((rule) => typeof rule === 'object' && kind in rule);
  if (judges.length === 0) return undefined;
  return judges.some((rule) => fits(rule, spec, 'certainly'));
}

/** The pattern of a rule for addresses and its parts; the host is mandatory. */
export const urlRulePattern = /^([^:/?#\\]+):\/\/([^/?#\\]+)(\/.*)?$/u;

type Certainty = 'certainly' | 'possibly';

function fits(rule: ServerRule, spec: ServerSpec, how: Certainty): boolean {
  if (typeof rule === 'string' || spec.type === 'memory') return false;
  if ('command' in rule) return spec.type === 'stdio' && fitsCommand(rule.command, spec, how);
  return spec.type !== 'stdio' && fitsUrl(rule.url, spec, how);
}

function fitsCommand(
  rule: string | readonly string[],
  { command, args }: StdioSpec,
  how: Certainty,
): boolean {
  const [program = '', ...rest] = typeof rule === 'string' ? [rule] : rule;
  if (!fitsProgram(program, command, how)) return false;
  if (typeof rule === 'string') return true;
  return (
    rest.length === args.length &&
    rest.every((pattern, index) => fitsText(pattern, `${args[index]}`, how))
  );
}

function fitsProgram(pattern: string, command: string, how: Certainty): boolean {
  if (fitsText(pattern, command, how)) return true;
  if (how === 'certainly') return false;
  // The same program by its path, or with the suffix that Windows adds.
  const base = command.replace(/^.*[\\/]/u, '');
  return fitsText(pattern, base.replace(/\.(?:exe|cmd|bat)$/iu, ''), how);
}

function fitsText(pattern: string, text: string, how: Certainty): boolean {
  return text.includes('${') ? how === 'possibly' : matchesGlob(pattern, text);
}

function fitsUrl(rule: string, { url }: RemoteSpec, how: Certainty): boolean {
  const [, scheme = '', host = '', path = '/*'] = urlRulePattern.exec(rule) ?? [];
  const address = addressOf(url);
  if (address === undefined) return how === 'possibly';
  if (!matchesGlob(scheme.toLowerCase(), address.scheme)) return false;
  if (!matchesGlob(host.toLowerCase(), address.host)) return false;
  return path === '/*' || fitsText(path, address.path, how);
}

/** Undefined while a reference decides which host is meant. */
function addressOf(
  url: string,
): { readonly scheme: string; readonly host: string; readonly path: string } | undefined {
  const [origin = '${'] = /^[a-z][a-z\d+.-]*:\/\/[^/\\?#]*/iu.exec(url) ?? [];
  if (origin.includes('${') || !URL.canParse(url)) return undefined;
  const { protocol, host, pathname, search } = new URL(url);
  // A reader of addresses escapes the braces of a reference in a path.
  const path = url.includes('${') ? '${' : `${pathname}${search}`;
  // A host with a dot at its end is the same host.
  return { scheme: protocol.slice(0, -1), host: host.replace(/\.(?=$|:)/u, ''), path };
}
