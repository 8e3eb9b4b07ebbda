/** A server named on the command line: used once, beside the settings. */

import { defined } from '../../domain/data/defined.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { reworded, usageError } from '../../domain/user-errors.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import type { HostPolicy, TroupeOptions } from '../../runtime/troupe.ts';
import { type FlagDefinition, flag, textsFlag } from '../command.ts';
import { settleTimeoutMs } from '../control/protocol.ts';
import { afterOneRun } from '../control/running-troupe.ts';
import { pairsOf, parseText } from '../flag-values.ts';
import type { Launch } from '../launch.ts';
import { shellWords } from '../shell-words.ts';

/** How status, errors and `meta.server` name it. */
const adHocName = 'ad-hoc';

export interface AdHocFlags {
  readonly stdio?: string;
  readonly url?: string;
  readonly env?: readonly string[];
  readonly header?: readonly string[];
}

export interface AdHocServer {
  readonly name: string;
  /** Options of a troupe with this server alone. */
  readonly options: TroupeOptions;
  /** The flag that names it, as words for a shell. */
  readonly words: string;
  /** Whether `--stdio` names it. */
  readonly isLocal: boolean;
}

/** For commands that use a server once. */
export const adHocFlags: readonly FlagDefinition[] = [
  flag('--stdio <command>', 'use the server that this command starts; no shell runs', parseText),
  flag('--url <url>', 'use the server at this address', parseText),
  textsFlag('--env <name=value>', 'set a variable of the --stdio server; may be repeated'),
  textsFlag('--header <name=value>', 'send a header to the --url server; may be repeated'),
];

const isAddress = (word: string): boolean => /^(?:https?|wss?):\/\//iu.test(word);

/** Whether a word in place of a server's name is a command of several words or an address, which no name can be. */
export function isAdHocWord(word: string): boolean {
  return isAddress(word) || /\S\s+\S/u.test(word);
}

/** The flags as if such a word had been given with the flag that it stands for. */
export function adHocFlagsOf(word: string, flags: AdHocFlags): AdHocFlags {
  return { ...flags, [isAddress(word) ? 'url' : 'stdio']: word };
}

/** For the help of these commands. */
export const adHocDetails =
  'With --stdio or --url, it uses a server that no settings name, starts nothing else, and needs no running troupe; ' +
  'a quoted command or an address in place of SERVER means the same. ' +
  '${VAR} in the command, the address, --env and --header is replaced as in settings.';

/**
 * The server that the flags name; undefined when they name none.
 * @throws TroupeError `USAGE` for flags that do not go together
 */
export function adHocServerOf(launch: Launch, flags: AdHocFlags): AdHocServer | undefined {
  const { stdio, url, env, header } = flags;
  if (stdio !== undefined && url !== undefined)
    throw usageError('--stdio and --url name two servers; use one of them');
  if (stdio === undefined && env !== undefined)
    throw usageError('--env is for a server that --stdio starts; add --stdio, or leave out --env');
  if (url === undefined && header !== undefined)
    throw usageError('--header is for a server at --url; add --url, or leave out --header');
  if (stdio === undefined && url === undefined) return undefined;
  const own = stdio === undefined ? '--url' : '--stdio';
  if (launch.configFiles.length > 0)
    throw usageError(`${own} reads no servers from settings; leave out --config`);
  const entry = stdio === undefined ? remoteEntry(url ?? '', header) : localEntry(stdio, env);
  return {
    name: adHocName,
    isLocal: stdio !== undefined,
    words: `${own} ${quotedFor('shell', stdio ?? url ?? '')}`,
    options: {
      // An administrator's settings bind this server as well.
      sources: [{ file: launch.managedSettings, scope: 'managed' }],
      bare: true,
      settings: { mcpServers: { [adHocName]: entry } },
      policy: once,
      projectRoot: launch.projectRoot,
      stateDir: launch.stateFolder,
      ...defined({ allow: launch.allow }),
    },
  };
}

/** The user waits for this one start, so it is not repeated. */
const once: HostPolicy = {
  startup: { maxAttempts: 1 },
  restart: { maxAttempts: 1 },
  connect: { localTimeoutMs: settleTimeoutMs },
  // A stored list would serve a later run, which starts the server anyway.
  catalog: { cache: 'none' },
  // The user has just typed the command, in this folder.
  approval: { folderFiles: 'allow' },
};

function localEntry(text: string, env: readonly string[] = []): Record<string, unknown> {
  const [command, ...args] = shellWords(text);
  if (command === undefined || command === '')
    throw usageError('--stdio needs a command, as in --stdio "npx -y my-server"');
  return { command, args, env: pairsOf('--env', env) };
}

function remoteEntry(url: string, header: readonly string[] = []): Record<string, unknown> {
  // Otherwise the type follows from "url".
  const type = /^wss?:/i.test(url) ? { type: 'ws' } : {};
  return { ...type, url, headers: pairsOf('--header', header) };
}

/** Rewrites an error for a server that no other command knows. */
export function adHocError({ words, isLocal }: AdHocServer, error: TroupeError): TroupeError {
  const flagName = isLocal ? '--stdio' : '--url';
  const message = error.message
    .replace(atSettings, `${flagName}: `)
    .replace(stillStarting, `The server of ${flagName} is still `)
    .replace(failedStart, `The server of ${flagName} did not start: `)
    .replace(otherNextStep, 'Next: check the command line and run it again')
    .replace(ownCommand, (_, command: string) => `troupe ${command} ${words}`);
  return reworded(error, afterOneRun(message));
}

const failedStart = new RegExp(String.raw`^Server ${adHocName} is (?:failed|backingOff) \(\w+\): `);
const stillStarting = new RegExp(`^${adHocName} is still `);
const atSettings = new RegExp(
  String.raw`^(?:Server ${adHocName} is blocked \(invalidConfig\): )?host settings mcpServers\.${adHocName}(?:\.\w+)*: `,
);
const otherNextStep = new RegExp(
  String.raw`Next: (?:fix host settings|.*troupe (?:status|start|restart|logs|explain) ${adHocName}\b).*$`,
);
const ownCommand = new RegExp(
  String.raw`\btroupe (tools|call|resources|prompts|read|prompt) ${adHocName}\b`,
  'g',
);
