/**
 * Lists the values that a server would get, for the user who decides about it: the text of
 * the settings, never the values of its references.
 */

import { nameWord, quotedWord } from '../../domain/data/printable.ts';
import type { ApprovalValue, ValueOrigin } from '../../domain/host/approval.ts';
import { isFolderScope, type Scope } from '../../domain/scope.ts';
import type { RemoteSpec, ServerSpec } from '../../domain/server-spec.ts';
import { type Reference, referenceKey, referencesIn } from '../expand-variables.ts';
import {
  isSecretField,
  logInFacts,
  reachTexts,
  specTexts,
  type Text,
  textsOf,
} from '../spec-texts.ts';
import { decidesWhatRuns } from './decides-what-runs.ts';

/**
 * Lists every variable, header, proxy and certificate, everything that decides a login, and every
 * other text with a reference.
 *
 * A folder's text is shown in full, because hiding it would hide what the folder does. The
 * user's settings hold the user's own secrets, so for their variables and headers only
 * references are shown, and variables that decide what runs.
 */
export function approvalValuesOf(spec: ServerSpec, scope: Scope): readonly ApprovalValue[] {
  if (spec.type === 'memory') return [];
  const isShown = isFolderScope(scope);
  const isLiteral = spec.values?.literal === true;
  const named =
    spec.type === 'stdio'
      ? textsOf('env', spec.env)
      : [...textsOf('headers', spec.headers), ...reachTexts(spec), ...oauthFactsOf(spec)];
  const fields = new Set(named.map(([field]) => field));
  const valueOf = ([field, text]: Text, isText: boolean): ApprovalValue => {
    const from = isLiteral ? [] : originsOf(text);
    return { field, ...(isText && { text }), ...(from.length > 0 && { from }) };
  };
  return [
    ...named.map((one) => valueOf(one, isShown || isHarmless(one, isLiteral))),
    ...(spec.values?.commands ?? []).map(({ key, words }) => ({
      field: key,
      from: [{ kind: 'command', reference: words.join(' ') } as const],
    })),
    ...specTexts(spec)
      .filter(([field]) => !fields.has(field))
      .map((one) => valueOf(one, true))
      .filter(({ from }) => from !== undefined),
  ];
}

/** Lists what decides a login, without the account, which every request for approval names. */
function oauthFactsOf(spec: RemoteSpec): readonly Text[] {
  return logInFacts(spec).filter(([field]) => field !== 'account');
}

/** Returns whether a string of the user's own settings cannot be a secret. */
function isHarmless([field, text]: Text, isLiteral: boolean): boolean {
  if (field.startsWith('oauth') && !isSecretField(field)) return true;
  if (field.startsWith('env.') && decidesWhatRuns(field.slice('env.'.length))) return true;
  return !isLiteral && /^\$\{[^}]*\}$/u.test(text) && referencesIn(text).length === 1;
}

/** Lists the origins of a string's references, each once. */
function originsOf(text: string): readonly ValueOrigin[] {
  const origins = referencesIn(text).flatMap((reference) => originOf(reference));
  const seen = new Set<string>();
  return origins.filter(({ reference }) => !seen.has(reference) && seen.add(reference));
}

function originOf(reference: Reference): readonly ValueOrigin[] {
  switch (reference.kind) {
    case 'variable':
      return [{ kind: 'environment', reference: `\${${reference.name}}` }];
    case 'input':
    case 'keychain':
      return [{ kind: reference.kind, reference: `\${${referenceKey(reference)}}` }];
    case 'broken':
      return [];
  }
}

/**
 * Returns the host that a URL leads to, when its text does not show it: because it is
 * written in Punycode, as a number, or behind text that only looks like a host.
 *
 * Undefined when the text shows the host, or when a reference decides it.
 */
export function disguisedHost(
  url: string,
): { readonly written: string; readonly host: string } | undefined {
  const written = /^[a-z][a-z\d+.-]*:[\\/]*([^\\/?#]*)/iu.exec(url)?.[1] ?? '';
  if (written.includes('${') || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  const shown = written.replace(/:\d*$/u, '').toLowerCase();
  return shown === hostname ? undefined : { written, host: hostname };
}

const groups: Readonly<Record<string, string>> = {
  env: 'variable',
  headers: 'header',
  oauth: 'login',
};
const origins: Readonly<Record<ValueOrigin['kind'], string>> = {
  environment: 'your environment',
  input: 'you are asked',
  keychain: 'your keychain',
  command: 'output of a command',
};

/** Returns a title and a description: `header`, `X-Key from ${KEY} (your environment)`. Text around a reference is quoted before it. */
export function approvalValueLine({
  field,
  text,
  from = [],
}: ApprovalValue): readonly [string, string] {
  const [, group = '', name = ''] = /^(env|headers|oauth)\.(.*)$/su.exec(field) ?? [];
  const sources = from.map(({ kind, reference }) => `${reference} (${origins[kind]})`).join(', ');
  const isBare = from.length === 1 && text === from[0]?.reference;
  const words = [
    ...(text === undefined || isBare ? [] : [`is ${quotedWord(text)}`]),
    ...(sources === '' ? [] : [`from ${sources}`]),
  ];
  const what = words.length === 0 ? 'is set to a text that is not shown' : words.join(', ');
  return [groups[group] ?? 'setting', `${group === '' ? field : nameWord(name)} ${what}`];
}
