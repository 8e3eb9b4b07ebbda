/**
 * Reads settings files and remembers the last good content of each.
 *
 * What is wrong with a file is added to the problems, while its last good content
 * stays in force. A file that vanished keeps its content for a grace and is then
 * taken for deleted.
 */

import { dockerGatewayChoice, dockerGatewaySource } from '../src/config/docker-gateway.ts';
import { type MergedSettings, mergeSettings } from '../src/config/merge-settings.ts';
import {
  foldersOf,
  type ParsedSettings,
  parseSettings,
  parseSettingsFile,
  refuseFolders,
} from '../src/config/parse-settings.ts';
import type { FolderFault } from '../src/config/server-entry.ts';
import type { PolicyChoice } from '../src/domain/policy.ts';
import type { Scope } from '../src/domain/settings.ts';
import { printableLine } from '../src/policies/printable.ts';
import type { DockerGateway } from './docker-gateway.ts';
import {
  type LookAtFolder,
  lookAtFolder,
  type ReadFile,
  readSettingsFile,
} from './settings-file.ts';

/** A settings file and what it counts as. */
export interface SettingsFileRef {
  /** Absolute path. */
  readonly file: string;
  readonly scope: Scope;
  /** Its absence is nothing to report, as with a project's `.mcp.json`. */
  readonly optional?: boolean;
}

export interface SettingsReaderPorts {
  /** Lowest precedence first. */
  readonly files: readonly SettingsFileRef[];
  /** Absolute path; relative paths in settings start here. */
  readonly projectRoot: string;
  /** Settings of the host itself, in the form of a settings file; highest precedence. */
  readonly overlay?: Readonly<Record<string, unknown>>;
  /** Where all policies start. Default: the preset `default`. */
  readonly policy?: PolicyChoice;
  /** Asked only when settings want the gateway. Default: nobody asks, and it counts as there. */
  readonly docker?: DockerGateway;
  /** Default: the disk. */
  readonly readFile?: ReadFile;
  /** Default: the disk. */
  readonly lookAtFolder?: LookAtFolder;
}

export interface SettingsReading extends MergedSettings {
  /** A file vanished: read again after this many milliseconds, to see whether it stays away. */
  readonly againInMs?: number;
}

export interface SettingsReader {
  /** Reads all files again. Never rejects. @param now monotonic milliseconds */
  read(now: number): Promise<SettingsReading>;
  /** Replaces the host's own settings; seen by the next read. */
  setOverlay(settings: Readonly<Record<string, unknown>>): void;
}

interface Remembered {
  readonly parsed: ParsedSettings;
  /** What it was made of; absent when the file could not be read. */
  readonly text?: string;
  readonly missingSince?: number;
}

// Two seconds: editors and `git checkout` put a file back within a fraction of
// one, and a person who deleted a file does not watch the clock.
const deletionGraceMs = 2_000;

export function createSettingsReader(ports: SettingsReaderPorts): SettingsReader {
  const { projectRoot, readFile = readSettingsFile } = ports;
  const faultOf = ports.lookAtFolder ?? lookAtFolder;
  const memory = new Map<SettingsFileRef, Remembered>();
  let overlay =
    ports.overlay === undefined
      ? undefined
      : keepGood(undefined, parseOverlay(ports.overlay, projectRoot));

  async function read(
    { file, scope }: SettingsFileRef,
    before: Remembered | undefined,
  ): Promise<Remembered | { readonly missing: true }> {
    try {
      const reading = await readFile(file);
      if ('text' in reading) {
        const { text } = reading;
        // One file of many was edited: the others mean what they meant.
        if (text === before?.text) return { parsed: before.parsed, text };
        const parsed = await parseSettingsFile(text, { file, scope, projectRoot });
        return { parsed: keepGood(before, parsed), text };
      }
      if ('missing' in reading) return reading;
      return { parsed: keepGood(before, { problems: [{ file, message: reading.message }] }) };
    } catch (error) {
      // A mistake of ours; it must cost this file's news, not all settings.
      const message = `the file could not be understood (${String(error)}); please report this`;
      const problems = [{ file, message: printableLine(message, 500) }];
      return { parsed: keepGood(before, { problems }) };
    }
  }

  async function look(ref: SettingsFileRef, now: number): Promise<Remembered> {
    const before = memory.get(ref);
    const reading = await read(ref, before);
    if ('parsed' in reading) return reading;
    if (before?.parsed.document === undefined) return { parsed: absent(ref) };
    const missingSince = before.missingSince ?? now;
    if (now - missingSince >= deletionGraceMs) return { parsed: absent(ref) };
    return { parsed: before.parsed, missingSince };
  }

  async function withFolders(parsed: ParsedSettings): Promise<ParsedSettings> {
    if (parsed.document === undefined) return parsed;
    const faults = new Map<string, FolderFault>();
    for (const folder of foldersOf(parsed.document)) {
      const fault = await faultOf(folder);
      if (fault !== undefined) faults.set(folder, fault);
    }
    return { ...parsed, document: refuseFolders(parsed.document, faults) };
  }

  /** The server of Docker's gateway, when somebody wants it. */
  async function gatewayAmong(
    parsed: readonly ParsedSettings[],
  ): Promise<readonly ParsedSettings[]> {
    const choice = dockerGatewayChoice(parsed.flatMap(({ document }) => document ?? []));
    if (choice === undefined) return [];
    const { docker } = ports;
    const facts = { variables: docker?.variables ?? [], finding: await docker?.finding() };
    return [dockerGatewaySource(choice, { projectRoot, ...facts })];
  }

  return {
    async read(now) {
      for (const ref of ports.files) memory.set(ref, await look(ref, now));
      const remembered = ports.files.flatMap((ref) => memory.get(ref) ?? []);
      const sources: ParsedSettings[] = [];
      for (const { parsed } of remembered) sources.push(await withFolders(parsed));
      const top = overlay === undefined ? undefined : await withFolders(overlay);
      sources.push(...(await gatewayAmong(top === undefined ? sources : [...sources, top])));
      const waits = remembered.flatMap(({ missingSince }) =>
        missingSince === undefined ? [] : [missingSince + deletionGraceMs - now],
      );
      return {
        ...mergeSettings(sources, top, ports.policy),
        ...(waits.length === 0 ? {} : { againInMs: Math.max(0, Math.min(...waits)) }),
      };
    },
    setOverlay(settings) {
      const parsed = parseOverlay(settings, projectRoot);
      overlay = keepGood(overlay === undefined ? undefined : { parsed: overlay }, parsed);
    },
  };
}

/** Reads settings once, for commands that look and leave. Never rejects. */
export async function readSettings(ports: SettingsReaderPorts): Promise<MergedSettings> {
  const reader = createSettingsReader(ports);
  let reading = await reader.read(0);
  if (await ports.docker?.settled()) reading = await reader.read(0);
  const { settings, specs } = reading;
  return { settings, specs };
}

/** What was parsed, with the last good document in place of a missing one. */
function keepGood(before: Remembered | undefined, parsed: ParsedSettings): ParsedSettings {
  if (parsed.document !== undefined) return parsed;
  const document = before?.parsed.document;
  const consequence =
    document === undefined
      ? 'nothing of this file is used until it is mended'
      : 'the last good content of this file stays in force until it is mended';
  // One mistake may cost all servers of the file, which its own words do not say.
  const problems = parsed.problems.map((problem) => ({
    ...problem,
    message: `${problem.message} (${consequence})`,
  }));
  return document === undefined ? { problems } : { document, problems };
}

function absent({ file, optional }: SettingsFileRef): ParsedSettings {
  if (optional === true) return { problems: [] };
  return { problems: [{ file, message: 'the file does not exist; create it or leave it out' }] };
}

/** Through text, so that a host's object obeys the same rules as a file. */
function parseOverlay(
  settings: Readonly<Record<string, unknown>>,
  projectRoot: string,
): ParsedSettings {
  const origin = { file: 'host settings', scope: 'api', projectRoot } as const;
  try {
    return parseSettings(JSON.stringify(settings), origin);
  } catch {
    const message = 'the settings cannot be written as JSON; pass plain data only';
    return { problems: [{ file: origin.file, message }] };
  }
}
