/**
 * Resolves the references in a server's values when it connects: users' answers, command output,
 * keychain passwords and a file of variables.
 *
 * A troupe has a single source, so that each question is asked only once. Only the user's answers
 * are kept, in memory; every session resolves the rest again.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Missing } from '../../src/domain/failure.ts';
import type { HeadersReason } from '../../src/domain/host/headers.ts';
import type { AskForInput } from '../../src/domain/input.ts';
import {
  type MemorySpec,
  type RemoteSpec,
  type ServerSpec,
  type ValueCommand,
  type ValueRules,
} from '../../src/domain/server-spec.ts';
import {
  expandVariables,
  type FoundValue,
  type FoundValues,
  type Reference,
  referenceKey,
  referencesIn,
  type Variables,
} from '../../src/policies/expand-variables.ts';
import { specTexts } from '../../src/policies/spec-texts.ts';
import { readTextFile } from '../files/text-file.ts';
import type { ProcessKeeper } from '../processes/started-processes.ts';
import { createValueCommands } from './commands.ts';
import { readEnvFile } from './env-file.ts';
import { type HostHeaders, headersInText, headersOfHost, serverVariables } from './headers.ts';
import { createInputs, type InputEvents } from './inputs.ts';
import { createKeychain, type KeyringPackage } from './keychain.ts';
import { SettingError, unexpandable } from './setting-error.ts';
import { noValues, type SpecValues, withHeaders } from './target.ts';

export interface ValuePorts {
  readonly clock: Clock;
  readonly env: Variables;
  /** Absolute path of the project, in which commands run unless the entry's rules name another folder. */
  readonly projectRoot: string;
  readonly ask: AskForInput | undefined;
  readonly inputEvents?: InputEvents | undefined;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
  /** Headers that the host provides for remote servers. */
  readonly hostHeaders?: HostHeaders | undefined;
  /** Loads the keychain package. Default: `@napi-rs/keyring`, if it is installed. */
  readonly loadKeyring?: () => Promise<KeyringPackage>;
}

export type ValueSource = ReturnType<typeof createValueSource>;

type SearchedSpec = Exclude<ServerSpec, MemorySpec>;
type Searched = Extract<Reference, { kind: 'input' | 'keychain' }>;

/** Returns whether a spec refers to anything other than variables; most do not. */
function needsFinding(spec: ServerSpec): spec is SearchedSpec {
  if (spec.type === 'memory') return false;
  const { literal, envFile, commands } = spec.values ?? {};
  if (envFile !== undefined || commands !== undefined) return true;
  if (spec.type !== 'stdio' && hasFiles(spec)) return true;
  return literal !== true && searchedIn(spec).size > 0;
}

function hasFiles({ oauth }: RemoteSpec): boolean {
  if (oauth === undefined || oauth === false) return false;
  return oauth.keyFile !== undefined || oauth.assertionFile !== undefined;
}

/** Returns the spec with its headers and address only, whose values may change during a session. */
export function headersOnly(remote: RemoteSpec): RemoteSpec {
  const { oauth: _, proxy: _proxy, tls: _tls, values, ...spec } = remote;
  return { ...spec, ...(values && { values: withCommands(values, 'headers') }) };
}

/** Returns the spec with its login and address only. */
export function logInOnly(remote: RemoteSpec): RemoteSpec {
  const { proxy: _proxy, tls: _tls, values, ...spec } = remote;
  return { ...spec, headers: {}, ...(values && { values: withCommands(values, 'oauth.') }) };
}

/** Keeps the commands for keys that begin so. */
function withCommands({ commands = [], ...rules }: ValueRules, key: string): ValueRules {
  const kept = commands.filter((command) => command.key.startsWith(key));
  return { ...rules, ...(kept.length > 0 && { commands: kept }) };
}

/** Returns whether headers refer to anything outside the settings, including variables. */
export function hasHeaderReferences({ headers, values }: RemoteSpec): boolean {
  if (values?.literal === true) return false;
  return Object.values(headers).some((text) => referencesIn(text).length > 0);
}

export function createValueSource(ports: ValuePorts) {
  const { clock, env } = ports;
  const inputs = createInputs(clock, ports.ask, ports.inputEvents);
  const commands = createValueCommands(ports);
  const keychain = createKeychain(clock, ports.loadKeyring);
  const closing = new AbortController();

  async function findReference(
    { reference, key }: PlacedReference,
    spec: SearchedSpec,
    server: string,
  ): Promise<FoundValue> {
    if (reference.kind === 'keychain') {
      const { service, account } = reference;
      const entry = printableLine(`${service}/${account}`, maxShownLength);
      const answer = await keychain.read(service, account);
      if ('value' in answer) return { value: answer.value, isSecret: true };
      throw new SettingError(
        `The password "${entry}", which "${key}" needs, ${answer.failure}.`,
        answer.isMissing === true ? { missing: { what: 'password', name: entry } } : {},
      );
    }
    const { definitions = [], ...source } = spec.values?.inputs ?? { scope: 'api' as const };
    const definition = definitions.find(({ id }) => id === reference.id);
    const answer =
      definition === undefined
        ? { refusal: 'is not declared in "inputs"' }
        : await inputs.answerTo(definition, { server, source });
    if ('value' in answer) return { value: answer.value, isSecret: definition?.password === true };
    throw new SettingError(
      `The input "${reference.id}", which "${key}" needs, ${answer.refusal}.`,
      { missing: missingInput(reference.id, ports.ask !== undefined && definition !== undefined) },
    );
  }

  async function findReferences(spec: SearchedSpec, server: string): Promise<FoundValues> {
    if (spec.values?.literal === true) return new Map();
    const found = [...searchedIn(spec)].map(
      async ([name, placed]) => [name, await findReference(placed, spec, server)] as const,
    );
    return new Map(await Promise.all(found));
  }

  const isForHost = (spec: ServerSpec): spec is RemoteSpec =>
    ports.hostHeaders !== undefined && spec.type !== 'stdio' && spec.type !== 'memory';

  return {
    /** Returns whether a spec needs anything besides variables. */
    isNeededFor: (spec: ServerSpec): boolean => needsFinding(spec) || isForHost(spec),
    /**
     * Finds everything that the spec needs besides variables.
     *
     * @param reason - why the host is asked for headers
     * @throws SettingError that says what is missing, where, and what to do
     */
    async find(
      spec: ServerSpec,
      server: string,
      reason: HeadersReason = 'connect',
    ): Promise<SpecValues> {
      if (!needsFinding(spec) && !isForHost(spec)) return noValues;
      // In sequence: the user is not asked for inputs of a server that fails for another reason.
      const found = await runCommands(commands, spec);
      const references = await findReferences(spec, server);
      return {
        commands: found,
        references,
        fileEnv: await readVariables(spec, references, ports),
        headers: await findHeaders(
          spec,
          { server, references, reason },
          { ...ports, commands, signal: closing.signal },
        ),
        files: await readSecretFiles(spec, env, references),
      };
    },
    /** Makes the next request ask for refused inputs again. */
    askAgain: () => inputs.askAgain(),
    /** Returns the input that the host is being asked for on a server's behalf; undefined = none. */
    inputAskedFor: (server: string) => inputs.askedFor(server),
    /** Ends everything in progress; resolves once no process is left. */
    async close(): Promise<void> {
      closing.abort();
      inputs.close();
      keychain.close();
      await commands.close();
    },
  };
}

async function readVariables(
  spec: SearchedSpec,
  references: FoundValues,
  { env, projectRoot }: Pick<ValuePorts, 'env' | 'projectRoot'>,
): Promise<SpecValues['fileEnv']> {
  const rule = spec.values?.envFile;
  if (rule === undefined) return {};
  const place = expanded(spec, ['envFile', rule.path], env, references);
  const reading = await readEnvFile({ ...rule, path: place }, projectRoot, env);
  if ('env' in reading) return reading.env;
  // As written: the value of a reference in it may be a secret.
  const file = printableLine(rule.path, maxShownLength);
  throw new SettingError(`The file of variables "${file}" ${reading.failure}.`);
}

/** @throws SettingError that names the key */
function expanded(
  { values }: SearchedSpec,
  [key, text]: readonly [key: string, text: string],
  env: Variables,
  found: FoundValues,
): string {
  const expansion = expandVariables(text, env, { found, literal: values?.literal });
  if ('value' in expansion) return expansion.value;
  throw unexpandable(expansion, key);
}

function missingInput(id: string, canBeGiven: boolean): Missing {
  return canBeGiven
    ? { what: 'input', name: id }
    : { what: 'reference', name: `\${${referenceKey({ kind: 'input', id })}}` };
}

type ValueCommands = ReturnType<typeof createValueCommands>;

async function runCommands(
  commands: ValueCommands,
  { values }: SearchedSpec,
): Promise<ReadonlyMap<string, string>> {
  const listed = (values?.commands ?? []).filter(({ key }) => key !== 'headersCommand');
  const outputs = listed.map(
    async (one) => [one.key, await outputOf(commands, one, values?.commandFolder)] as const,
  );
  return new Map(await Promise.all(outputs));
}

async function outputOf(
  commands: ValueCommands,
  { key, words }: ValueCommand,
  folder: string | undefined,
  added?: Readonly<Record<string, string>>,
): Promise<string> {
  const answer = await commands.outputOf(words, folder, added);
  if ('value' in answer) return answer.value;
  const program = printableLine(words[0] ?? '', maxShownLength);
  throw new SettingError(`The command "${program}", which gives "${key}", ${answer.failure}.`);
}

interface HeadersWanted {
  readonly server: string;
  readonly references: FoundValues;
  readonly reason: HeadersReason;
}

interface HeadersPorts extends ValuePorts {
  readonly commands: ValueCommands;
  readonly signal: AbortSignal;
}

/** Fetches the headers that a program and the host provide together; the host's win. */
async function findHeaders(
  spec: SearchedSpec,
  { server, references, reason }: HeadersWanted,
  ports: HeadersPorts,
): Promise<SpecValues['headers']> {
  const command = spec.values?.commands?.find(({ key }) => key === 'headersCommand');
  const { env, hostHeaders, commands } = ports;
  if (spec.type === 'stdio' || (command === undefined && hostHeaders === undefined)) return {};
  const about = { server, url: expanded(spec, ['url', spec.url], env, references) };
  const ofProgram =
    command === undefined
      ? {}
      : headersInText(
          await outputOf(commands, command, spec.values?.commandFolder, serverVariables(about)),
          command,
        );
  return withHeaders(ofProgram, await headersOfHost(hostHeaders, { ...about, reason }, ports));
}

// Enough to recognize a path or a name in a message.
const maxShownLength = 200;

interface PlacedReference {
  readonly reference: Searched;
  /** The first key that needs it. */
  readonly key: string;
}

/** Returns the references to inputs and the keychain, without duplicates. */
function searchedIn(spec: SearchedSpec): ReadonlyMap<string, PlacedReference> {
  const searched = new Map<string, PlacedReference>();
  for (const [key, text] of specTexts(spec)) {
    for (const reference of referencesIn(text)) {
      if (reference.kind !== 'input' && reference.kind !== 'keychain') continue;
      const name = referenceKey(reference);
      if (!searched.has(name)) searched.set(name, { reference, key });
    }
  }
  return searched;
}

// A key of 16,384 bits in PEM has 13 KB; a token is shorter.
const maxBytes = 64 * 1024;

/**
 * Reads the files with a client's key or a workload's token. Tokens are rotated, so no text is kept.
 * @throws SettingError that names the file as written
 */
async function readSecretFiles(
  spec: SearchedSpec,
  env: Variables,
  found: FoundValues,
): Promise<ReadonlyMap<string, string>> {
  if (spec.type === 'stdio' || !spec.oauth) return new Map();
  const { keyFile, assertionFile } = spec.oauth;
  const files = Object.entries({ 'oauth.keyFile': keyFile, 'oauth.assertionFile': assertionFile });
  const texts = files.map(async ([key, file]) => {
    if (file === undefined) return [];
    const rule = { key, within: file.within, maxBytes, content: 'the value' };
    const reading = await readTextFile(expanded(spec, [key, file.path], env, found), rule);
    if ('text' in reading) return [[key, reading.text] as const];
    const shown = printableLine(file.path, maxShownLength);
    throw new SettingError(`The file "${shown}", which "${key}" names, ${reading.failure}.`);
  });
  return new Map((await Promise.all(texts)).flat());
}
