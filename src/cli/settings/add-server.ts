/** Adds a server to a settings file: checks it as a troupe would read it, writes and approves it. */

import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine, quotedWord } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { settingsError, usageError } from '../../domain/user-errors.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { isServerName } from '../../policies/text/name-rule.ts';
import { approveWritten, type WrittenText } from '../../runtime/previews/approve-written.ts';
import { literalSecretsOf, withoutSecrets } from '../../settings/entry/literal-secrets.ts';
import { isAtTerminal } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { commandToStart, type RunningTroupe } from '../control/running-troupe.ts';
import { pairsOf } from '../flag-values.ts';
import {
  type Launch,
  projectSettings,
  realOrPlanned,
  sourcesOf,
  troupeOptionsOf,
} from '../launch.ts';
import { statusLine } from '../show/status-lines.ts';
import { settingsOf } from './declared-server.ts';
import { applyEdit, withEditedTroupe } from './running-edit.ts';
import { editedText, openSettings, replaceSettings } from './settings-file.ts';

export interface AddFlags extends LoginFlags {
  readonly env?: readonly string[];
  readonly cwd?: string;
  readonly header?: readonly string[];
  readonly type?: string;
  readonly scope?: 'user' | 'project' | 'local';
  readonly yes?: true;
}

type Entry = Readonly<Record<string, unknown>>;

/** Runs `troupe add`. */
export async function addServer(
  session: CliSession,
  name: string,
  words: readonly string[],
  flags: AddFlags,
): Promise<number> {
  if (!isServerName(name))
    throw usageError(
      `${quotedWord(name)} is not a server name; use 1 to 100 letters, digits and . _ : -, not beginning with -`,
    );
  const entry = entryOf(words, flags);
  return withEditedTroupe(session.launch, (seen, running) =>
    addTo(session, { name, entry, seen, running }, flags),
  );
}

interface Addition {
  readonly name: string;
  readonly entry: Entry;
  /** The launch whose files count. */
  readonly seen: Launch;
  readonly running: RunningTroupe | undefined;
}

async function addTo(session: CliSession, addition: Addition, flags: AddFlags): Promise<number> {
  const { launch, output } = session;
  const { name, entry, seen, running } = addition;
  const chosen = targetOf(launch, flags.scope);
  const source = sourcesOf(seen).find(({ file }) => realOrPlanned(file) === realOrPlanned(chosen));
  // The user's own file does not count beside --config, but can be written.
  const reading = source === undefined ? { ...seen, configFiles: [], bare: false } : seen;
  const file = source?.file ?? chosen;
  await refuseTaken(reading, name);
  const open = await openSettings(launch, file);
  const text = editedText(open, [{ path: ['mcpServers', name], value: entry }]);
  const isGated = await checked(reading, { file, text }, name);
  let isApproved: boolean | undefined;
  const result = await applyEdit(session, source === undefined ? undefined : running, name, {
    async write() {
      await replaceSettings(open, text);
      if (!isGated) return;
      isApproved =
        (flags.yes === true || isAtTerminal(session)) &&
        (await approveWritten(troupeOptionsOf(reading), { file, text }, [name]));
    },
    async isApplied(troupe) {
      const status = await troupe.statusOf(name);
      return status !== undefined && (isApproved !== true || status.reason !== 'pendingApproval');
    },
  });
  const scope = source?.scope ?? 'user';
  output.document({
    action: 'added',
    server: name,
    file,
    scope,
    entry: withoutSecrets(entry),
    ...defined({ approved: isApproved }),
    ...result,
  });
  output.lines([`added ${name} to ${printableLine(open.place, 500)} (${scope})`]);
  for (const where of literalSecretsOf(entry))
    output.note(
      `${where.join('.')} looks like a secret and is in the file as it is; set a variable and write \${NAME} instead`,
    );
  const isWaiting = isApproved === false;
  if (isWaiting && result.status !== undefined)
    output.lines([`a file of the project folder needs approval: troupe approve ${name}`]);
  if (result.status !== undefined) output.lines([statusLine(result.status, Date.now())]);
  else if (source === undefined)
    output.lines(['this file does not count beside --config; leave that out to use it']);
  else
    output.lines([
      `start it with: ${commandToStart(seen)}`,
      // An approval needs a running troupe.
      ...(isWaiting ? [`then, in another terminal, approve it with: troupe approve ${name}`] : []),
    ]);
  return 0;
}

function targetOf(launch: Launch, scope: AddFlags['scope']): string {
  if (scope === 'user') return launch.userSettings;
  if (scope === 'local') return path.join(launch.projectRoot, '.troupe', 'settings.local.json');
  const named = scope === undefined ? launch.configFiles.at(-1) : undefined;
  return named ?? projectSettings(launch);
}

async function refuseTaken(launch: Launch, name: string): Promise<void> {
  const { servers } = await settingsOf(launch);
  const taken = servers.find((server) => server.name === name);
  if (taken === undefined) return;
  const { file, line, scope } = taken.source;
  const place =
    file === undefined ? `${scope} settings` : `${file}${line === undefined ? '' : `:${line}`}`;
  throw new TroupeError(
    'USAGE',
    `${name} exists already in ${place}; use another name, or run troupe remove ${name} first`,
    { server: name },
  );
}

/**
 * Reads the new text as a troupe would.
 * @returns whether the server needs approval
 * @throws TroupeError `INVALID_CONFIG` for an entry that could not start
 */
async function checked(launch: Launch, written: WrittenText, name: string): Promise<boolean> {
  const { servers, problems } = await settingsOf(launch, written);
  const desired = servers.find((server) => server.name === name);
  const invalid =
    desired === undefined
      ? (problems.find((problem) => problem.server === name) ?? problems.at(0))
      : desired.invalid;
  if (invalid !== undefined)
    throw settingsError(
      `nothing is written, because ${invalid.key ?? invalid.file}: ${invalid.message}`,
      name,
    );
  return desired?.gated ?? false;
}

function entryOf(words: readonly string[], flags: AddFlags): Entry {
  const { env, cwd, header, type } = flags;
  const [first, ...args] = words;
  if (first === undefined)
    throw usageError(
      'say what to add: a command after --, as in troupe add NAME -- npx -y PACKAGE, or a URL',
    );
  const isUrl = /^(?:https?|wss?):\/\//iu.test(first);
  if (isUrl) return remoteEntryOf(first, args, flags);
  const meant = meantUrl(first);
  if (meant !== undefined)
    throw usageError(
      `${quotedWord(first)} is neither a command nor a URL that begins with http://, https://, ws:// or wss://; write ${printableLine(meant, 200)}`,
    );
  if (header !== undefined) throw usageError('--header is for URLs; use --env with a command');
  if (Object.keys(loginKeysOf(flags)).length > 0)
    throw usageError('--account and --oauth-… are for URLs; a command gets its token by --env');
  return defined({
    type,
    command: first,
    args: args.length === 0 ? undefined : args,
    env: env && pairsOf('--env', env),
    cwd,
  });
}

/** The URL that a word almost is. A program with such a name needs a folder before it, as in `./a:1`. */
function meantUrl(word: string): string | undefined {
  const [, scheme, rest] = /^([^/]*):\/\/(.*)$/su.exec(word) ?? [];
  if (scheme !== undefined)
    return `${closestName(scheme, ['http', 'https', 'ws', 'wss']) ?? 'https'}://${rest}`;
  if (!/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}(?:\/|$)/iu.test(word)) return undefined;
  const isHere = /^(?:localhost|127\.|\[::1\])/iu.test(word);
  return `${isHere ? 'http' : 'https'}://${word}`;
}

function remoteEntryOf(url: string, more: readonly string[], flags: AddFlags): Entry {
  const { env, cwd, header, type } = flags;
  if (more.length > 0)
    throw usageError(`${quotedWord(more[0] ?? '')} after the URL is not understood; remove it`);
  if (env !== undefined || cwd !== undefined)
    throw usageError('--env and --cwd are for commands; use --header with a URL');
  const headers = header && pairsOf('--header', header);
  return defined({ type, url, headers, ...loginKeysOf(flags) });
}

/** Flags as parsed; absent = not given. */
interface LoginFlags {
  readonly account?: string;
  readonly oauthClientId?: string;
  /** The name of a variable; a secret never is an argument, which other users can read. */
  readonly oauthClientSecretEnv?: string;
  readonly oauthCallbackPort?: number;
  readonly oauthScope?: readonly string[];
}

type LoginKeys = Readonly<Record<'account' | 'oauth', unknown>>;

/**
 * Returns the keys of the entry; those without a flag are absent.
 * @throws TroupeError `USAGE`
 */
function loginKeysOf(flags: LoginFlags): Partial<LoginKeys> {
  const { account, oauthClientId, oauthClientSecretEnv, oauthCallbackPort, oauthScope } = flags;
  if (oauthClientSecretEnv !== undefined && oauthClientId === undefined)
    throw usageError('--oauth-client-secret-env belongs to a client; add --oauth-client-id');
  const oauth = defined({
    clientId: oauthClientId,
    clientSecret: oauthClientSecretEnv && referenceTo(oauthClientSecretEnv),
    callbackPort: oauthCallbackPort,
    scopes: oauthScope,
  });
  return defined({ account, oauth: Object.keys(oauth).length === 0 ? undefined : oauth });
}

function referenceTo(variable: string): string {
  // The text itself may be the secret.
  if (!/^[A-Za-z_]\w*$/u.test(variable))
    throw usageError(
      '--oauth-client-secret-env takes the name of a variable, such as CLIENT_SECRET, never the secret itself',
    );
  return `\${${variable}}`;
}
