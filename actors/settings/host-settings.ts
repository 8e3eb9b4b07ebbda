/** Settings that the host or its plugins pass as objects. */

import { unwritablePart } from '../../src/domain/data/exact-json.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Scope } from '../../src/domain/settings.ts';
import type { DocumentOrigin } from '../../src/settings/entry/places.ts';
import { isPrivileged } from '../../src/settings/entry/server-entry.ts';
import {
  type ParsedSettings,
  parseHostText,
  parseSettings,
  SettingsMemory,
  type Upkeep,
} from '../../src/settings/parse-settings.ts';

/** Settings that a plugin provides without a file. */
export interface PluginSettings {
  readonly plugin: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The host's settings, parsed like a file's at the first read after they are replaced. */
export class HostSettings {
  readonly #origin: DocumentOrigin;
  readonly #upkeep: Upkeep = { memory: new SettingsMemory(), pause };
  /** Newest last. */
  #waiting: readonly Written[] = [];
  #parsed: ParsedSettings | undefined;

  constructor(projectRoot: string) {
    this.#origin = { ...hostOrigin, projectRoot };
  }

  /** As text, because the host may change its object later. */
  replace(settings: Readonly<Record<string, unknown>>): void {
    this.#waiting = [...this.#waiting, textOf(settings)].slice(-rememberedReplacements);
  }

  /** Undefined until there are any. */
  async parsed(): Promise<ParsedSettings | undefined> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return this.#parsed;
    this.#waiting = [];
    // Writing a long text took most of this turn.
    if (waiting.some(({ text = '' }) => text.length >= longText)) await pause();
    const [newest = unwritable(), ...older] = await this.#parseLatest(waiting);
    // An invalid one leaves the last good one in force, also if that was not read yet.
    const good = older.find(({ document }) => document !== undefined) ?? this.#parsed;
    this.#parsed = keepGood(good && { parsed: good }, newest);
    return this.#parsed;
  }

  /** Newest first, up to the first that is valid as a whole. */
  async #parseLatest(texts: readonly Written[]): Promise<readonly ParsedSettings[]> {
    const all: ParsedSettings[] = [];
    for (const { text, part } of texts.toReversed()) {
      const parsed =
        text === undefined
          ? unwritable(part)
          : await parseHostText(text, this.#origin, this.#upkeep);
      all.push(parsed);
      if (parsed.document !== undefined) break;
    }
    return all;
  }
}

// Of a burst, one of the last eight is valid as a whole, or the one before the burst is kept.
const rememberedReplacements = 8;

// Written and searched for changes at about 10 ns per character.
const longText = 100_000;

const hostOrigin = { file: 'host settings', scope: 'api' } as const;

function unwritable(part?: string, { file } = hostOrigin as { file: string }): ParsedSettings {
  const what = part === undefined ? '' : ` (${printableLine(part, 200)})`;
  const message = `the settings cannot be written as JSON${what}; pass plain data only`;
  return { problems: [{ file, message }] };
}

/** Settings as text. */
interface Written {
  /** Absent for anything but plain data. */
  readonly text?: string;
  /** What JSON cannot hold, if that is known. */
  readonly part?: string;
}

function textOf(settings: Readonly<Record<string, unknown>>): Written {
  try {
    const part = unwritablePart(ownPartOf(settings));
    return part === undefined ? { text: JSON.stringify(settings) } : { part };
  } catch {
    return {};
  }
}

/** What is read here; a host may keep more in its object. */
function ownPartOf({ mcpServers, mcp, inputs }: Readonly<Record<string, unknown>>): object {
  return { mcpServers, mcp, inputs };
}

/** Parsed from a document, so that the same rules apply to an object and a file. */
export function parsePluginSettings(
  { plugin, settings }: PluginSettings,
  projectRoot: string,
): ParsedSettings {
  const file = `plugin ${plugin}`;
  const { text, part } = textOf(settings);
  if (text === undefined) return unwritable(part, { file });
  return parseSettings(text, { file, scope: 'plugin', projectRoot, isObject: true });
}

/** Pauses between two steps whose time grows with the number of servers, if there are many. */
export async function pauseAmong({ length }: readonly unknown[]): Promise<void> {
  if (length >= manyServers) await pause();
}

// A step takes 1 to 2 µs per server.
const manyServers = 1_000;

/** Lets everything else run first. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Returns what was parsed, with the last good document in place of a broken one. */
export function keepGood(
  before: { readonly parsed: ParsedSettings } | undefined,
  parsed: ParsedSettings,
): ParsedSettings {
  if (parsed.document !== undefined) return parsed;
  const document = before?.parsed.document;
  const consequence =
    document === undefined
      ? 'nothing of this file is used until it is fixed'
      : 'the last good content of this file stays in force until it is fixed';
  // One mistake may disable all of the file's servers, which the problem itself does not mention.
  const problems = parsed.problems.map((problem) => ({
    ...problem,
    message: `${problem.message} (${consequence})`,
  }));
  if (document === undefined) return { problems };
  return { ...before?.parsed, document, problems };
}

/** Marks a file of the user that cannot be read. Managed settings exclude all others even then. */
export function inPlaceOf(
  { file, scope }: { readonly file: string; readonly scope: Scope },
  parsed: ParsedSettings,
): ParsedSettings {
  if (parsed.document !== undefined || !isPrivileged(scope)) return parsed;
  const unread: ParsedSettings = { ...parsed, isUnread: true };
  return scope === 'managed'
    ? { ...unread, document: { file, scope, servers: [], mcp: {} } }
    : unread;
}
