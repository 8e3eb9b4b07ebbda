/**
 * Checks the references in one entry's values: to inputs, the keychain, commands and a
 * file of variables. They are resolved at connect time; here they are checked for
 * their form, and for whether this file may use them.
 *
 * A folder's file may neither run a program for a value nor read the user's keychain.
 * Messages never repeat a value.
 */

import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import type { InputDefinition } from '../../domain/input.ts';
import type { OAuthSpec, ReachRules, ValueRules } from '../../domain/server-spec.ts';
import {
  type BrokenReference,
  type Reference,
  referencesIn,
} from '../../policies/expand-variables.ts';
import { isPem } from '../../policies/text/pem.ts';
import { firstOf, type TreePath } from '../settings-tree.ts';
import { oauthPlainTexts, oauthSpecOf, oauthValues } from './oauth.ts';
import type { OAuthEntry } from './oauth-schema.ts';
import { type DocumentOrigin, projectWord } from './places.ts';
import type { BrokenRule } from './rules.ts';
import type { ServerEntry } from './schema.ts';

export interface ValuesOrigin extends Pick<DocumentOrigin, 'file' | 'scope' | 'projectRoot'> {
  /** Where relative paths begin, and commands run. */
  readonly folder: string;
  readonly isGated: boolean;
  /** The inputs declared in the same document. */
  readonly inputs: readonly InputDefinition[];
}

export interface EntryValues {
  /** The literal strings and those with references; outputs of commands are not known yet. */
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly reach: ReachRules;
  readonly oauth?: OAuthSpec | false;
  /** Absent when there is nothing but strings and variables. */
  readonly rules?: ValueRules;
  /** The first value from a command, which needs the consent of the user's own settings. */
  readonly commandAt?: TreePath;
}

interface TextValue {
  readonly path: TreePath;
  readonly text: string;
}

interface CommandValue {
  readonly path: readonly string[];
  readonly words: readonly string[];
}

// Characters with a meaning in a shell; no shell is used, so their author would be surprised.
const shellMarks = /["'`$\\|&;<>()*?[\]{}~#!\r\n]/u;

export function entryValuesOf(
  entry: ServerEntry,
  origin: ValuesOrigin,
  oauth: OAuthEntry | false | undefined,
): EntryValues | { readonly fault: BrokenRule } {
  const isLiteral = entry.values === 'literal';
  // After it is split: a folder's name may hold spaces, and whatever has a meaning in a shell.
  const placed = (word: string): string => word.replaceAll(projectWord, () => origin.projectRoot);
  const groups = groupsOf(entry, oauth, isLiteral);
  const { env, headers, certificates, proxy, secrets } = groups;
  const all = Object.values(groups);
  // Equal settings have equal fingerprints, in whichever order they are written.
  const commands = [...all.flatMap((group) => group.commands), ...headersCommandOf(entry)]
    .map(({ words, ...one }) => ({ ...one, words: words.map(placed) }))
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
  const texts = [
    ...plainTexts(entry),
    ...(oauth ? oauthPlainTexts(oauth) : []),
    ...all.flatMap((group) => group.texts),
  ];
  const references = isLiteral ? [] : texts.flatMap(referencesOf);
  const fault =
    firstOf(commands, (command) => commandFault(command, isLiteral, origin)) ??
    envFileFault(entry.envFile, origin) ??
    firstOf(references, (reference) => referenceFault(reference, origin));
  if (fault !== undefined) return { fault };

  const [first] = commands;
  const rules: ValueRules = {
    ...(isLiteral ? { literal: true } : {}),
    ...envFileOf(entry.envFile, isLiteral, origin),
    ...(first && {
      commands: commands.map((one) => ({ key: keyOf(one), words: one.words })),
      // Usual in settings of a host and a named file, and then not part of a generation.
      ...(origin.folder !== origin.projectRoot && { commandFolder: origin.folder }),
    }),
    ...inputsOf(references, origin),
  };
  return {
    env: textsByName(env.texts),
    headers: textsByName(headers.texts),
    reach: {
      ...(entry.proxy === false && { proxy: false as const }),
      ...(proxy.texts[0] && { proxy: proxy.texts[0].text }),
      ...tlsOf(textsByName(certificates.texts), isLiteral, origin),
    },
    ...(oauth !== undefined && {
      oauth: oauth && specOf(oauth, secrets.texts, isLiteral, origin),
    }),
    ...(Object.keys(rules).length > 0 && { rules }),
    ...(first && { commandAt: first.path }),
  };
}

/** Sorts all values that may come from commands. */
function groupsOf(entry: ServerEntry, oauth: OAuthEntry | false | undefined, isLiteral: boolean) {
  const { env, headers, tls, proxy } = entry;
  return {
    env: namedValues(groupValues('env', env), isLiteral),
    headers: namedValues(groupValues('headers', headers), isLiteral),
    certificates: namedValues(groupValues('tls', defined({ ...tls })), isLiteral),
    proxy: namedValues(proxy ? [[['proxy'], proxy]] : [], isLiteral),
    secrets: namedValues(oauth ? oauthValues(oauth) : [], isLiteral),
  };
}

/** Lists the strings that may hold references, except those of `env` and `headers`. */
function plainTexts({ args = [], ...entry }: ServerEntry): readonly TextValue[] {
  const keys = ['command', 'cwd', 'envFile', 'url'] as const;
  return [
    ...keys.map((key) => ({ path: [key] as const, text: entry[key] ?? '' })),
    ...args.map((text, index) => ({ path: ['args', index] as const, text })),
  ];
}

type Value = NonNullable<ServerEntry['env']>[string];
type PlacedValue = readonly [path: readonly string[], value: Value];

function groupValues(group: string, values: ServerEntry['env'] = {}): readonly PlacedValue[] {
  return Object.entries(values).map(([name, value]) => [[group, name], value]);
}

/** Sorts values into strings and commands. */
function namedValues(values: readonly PlacedValue[], isLiteral: boolean) {
  const texts: TextValue[] = [];
  const commands: CommandValue[] = [];
  for (const [where, value] of values) {
    if (typeof value !== 'string') commands.push({ path: where, words: value.command });
    else if (!isLiteral && value.startsWith('!'))
      commands.push({ path: where, words: wordsOf(value.slice(1)) });
    else texts.push({ path: where, text: value });
  }
  return { texts, commands };
}

function headersCommandOf({ headersCommand: given }: ServerEntry): readonly CommandValue[] {
  if (given === undefined) return [];
  return [{ path: ['headersCommand'], words: typeof given === 'string' ? wordsOf(given) : given }];
}

function specOf(
  oauth: OAuthEntry,
  texts: readonly TextValue[],
  isLiteral: boolean,
  { folder, ...origin }: ValuesOrigin,
): OAuthSpec {
  const byKey = new Map(texts.map((one) => [keyOf(one), one.text]));
  const places = { folder, isLiteral, ...confinesOf({ folder, ...origin }) };
  return oauthSpecOf(oauth, (key) => byKey.get(key), places);
}

/** Gives relative paths the folder of the settings file. */
function tlsOf(
  texts: Readonly<Record<string, string>>,
  isLiteral: boolean,
  origin: ValuesOrigin,
): Pick<ReachRules, 'tls'> {
  if (Object.keys(texts).length === 0) return {};
  const { file, projectRoot } = origin;
  // Settings of the host have no file.
  const folder = path.isAbsolute(file) ? path.dirname(file) : projectRoot;
  const placed = Object.entries(texts).map(([key, text]) => {
    const isOpen = !isLiteral && text.startsWith('${');
    const isPath = key !== 'passphrase' && !isOpen && !isPem(text);
    return [key, isPath ? path.resolve(folder, text) : text] as const;
  });
  return { tls: { ...Object.fromEntries(placed), ...confinesOf(origin) } };
}

/** The folder that a gated entry's files must be in: the project, or that of the plugin. */
function confinesOf({ folder, isGated, projectRoot, scope }: ValuesOrigin) {
  return isGated ? { within: scope === 'plugin' ? folder : projectRoot } : {};
}

function keyOf({ path: where }: { readonly path: TreePath }): string {
  return where.join('.');
}

/** Splits a command into words; empty when it needs a shell. */
function wordsOf(text: string): readonly string[] {
  const line = text.trim();
  return line === '' || shellMarks.test(line.replaceAll(projectWord, '')) ? [] : line.split(/\s+/u);
}

function textsByName(texts: readonly TextValue[]): Readonly<Record<string, string>> {
  return Object.fromEntries(texts.map(({ path: where, text }) => [where.at(-1), text]));
}

function commandFault(
  { path: where, words }: CommandValue,
  isLiteral: boolean,
  { isGated, scope }: ValuesOrigin,
): BrokenRule | undefined {
  const fault = (message: string): BrokenRule => ({ path: where, message });
  const isOfHeaders = where[0] === 'headersCommand';
  if (isLiteral && isOfHeaders)
    return fault('with "values": "literal" no program gives headers; remove one of the two');
  if (isLiteral)
    return fault(
      'with "values": "literal" no command gives a value; write the text, or remove "values"',
    );
  if (isGated && isOfHeaders)
    return fault(
      `a ${scope} file may not run a program for headers; set the server in settings of your own`,
    );
  if (isGated)
    return fault(
      `a ${scope} file may not run a command for a value; set the value in settings of your own, or write "values": "literal" if the text itself is meant`,
    );
  if (words[0] !== undefined && words[0] !== '') return undefined;
  if (isOfHeaders)
    return fault(
      'the program is missing, or its text needs a shell, and none is used; write ["program", "argument"], or ["sh", "-c", "…"] for a shell',
    );
  return fault(
    'the command is empty or needs a shell, and none is used; write { "command": ["program", "argument"] }, or { "command": ["sh", "-c", "…"] } for a shell',
  );
}

interface PlacedReference {
  readonly path: TreePath;
  readonly reference: Reference;
}

function referencesOf({ path: where, text }: TextValue): readonly PlacedReference[] {
  return referencesIn(text).map((reference) => ({ path: where, reference }));
}

const brokenReferences: Readonly<Record<BrokenReference, string>> = {
  nested: 'a reference cannot contain another in its default; keep one of them',
  input: 'a reference has no input name; write ${input:token} and declare "token" in "inputs"',
  keychain:
    'a reference has no keychain entry; write ${keychain:service/account}, as in ${keychain:github/me}',
};

function referenceFault(
  { path: where, reference }: PlacedReference,
  { isGated, scope, inputs }: ValuesOrigin,
): BrokenRule | undefined {
  const fault = (message: string): BrokenRule => ({ path: where, message });
  if (reference.kind === 'broken') return fault(brokenReferences[reference.why]);
  if (reference.kind === 'keychain' && isGated)
    return fault(
      `a ${scope} file may not read your keychain; write \${VAR}, or set the server in settings of your own`,
    );
  if (reference.kind !== 'input') return undefined;
  const input = inputs.find(({ id }) => id === reference.id);
  if (input === undefined)
    return fault(
      `there is no input "${reference.id}" in this file; add { "id": "${reference.id}", "type": "promptString", "password": true } to "inputs"`,
    );
  if (input.type !== 'command' || !isGated) return undefined;
  return fault(
    `the input "${input.id}" is a command, which a ${scope} file may not run; make it a "promptString"`,
  );
}

function envFileFault(
  envFile: string | undefined,
  { isGated, scope }: ValuesOrigin,
): BrokenRule | undefined {
  if (envFile === undefined) return undefined;
  const fault = (message: string): BrokenRule => ({ path: ['envFile'], message });
  if (envFile.trim() === '') return fault('"envFile" is empty; write ".env" or leave it out');
  // Its names are approved with the server, so the file must be known before approval.
  if (isGated && referencesIn(envFile).some(({ kind }) => kind === 'input'))
    return fault(`"envFile" of a ${scope} file may not depend on an input; write its path`);
  if (!envFile.startsWith('~')) return undefined;
  return fault('"envFile" begins with "~", which only a shell expands; write ${HOME}');
}

function envFileOf(
  envFile: string | undefined,
  isLiteral: boolean,
  origin: ValuesOrigin,
): Pick<ValueRules, 'envFile'> {
  if (envFile === undefined) return {};
  const isOpen = !isLiteral && envFile.startsWith('${');
  const file = isOpen ? envFile : path.resolve(origin.folder, envFile);
  return { envFile: { path: file, ...confinesOf(origin) } };
}

function inputsOf(
  references: readonly PlacedReference[],
  { file, scope, inputs }: ValuesOrigin,
): Pick<ValueRules, 'inputs'> {
  const ids = new Set(
    references.flatMap(({ reference }) => (reference.kind === 'input' ? reference.id : [])),
  );
  if (ids.size === 0) return {};
  const definitions = inputs.filter(({ id }) => ids.has(id));
  return { inputs: { ...(scope === 'api' ? {} : { file }), scope, definitions } };
}
