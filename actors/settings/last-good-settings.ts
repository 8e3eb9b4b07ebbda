/**
 * Reads settings files and remembers the last good content of each.
 *
 * A broken file is reported as a problem, while its last good content stays in effect. A file that
 * vanished keeps its content for two seconds and then counts as deleted.
 */

import { defined } from '../../src/domain/data/defined.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { HostRule } from '../../src/domain/host/rule.ts';
import type { PolicyChoice } from '../../src/domain/policy.ts';
import { isFolderScope, type Problem, type Scope } from '../../src/domain/settings.ts';
import { quotedFor } from '../../src/policies/text/quoted.ts';
import { dockerGatewayChoice, dockerGatewaySource } from '../../src/settings/docker-gateway.ts';
import type { FolderFault } from '../../src/settings/entry/places.ts';
import { isPrivileged } from '../../src/settings/entry/server-entry.ts';
import { ofPlugin } from '../../src/settings/layers.ts';
import {
  type MergedSettings,
  mergeSettings,
  mergingSettings,
} from '../../src/settings/merge-settings.ts';
import {
  foldersOf,
  inTurns,
  type ParsedSettings,
  parseSettingsFile,
  refuseFolders,
  SettingsMemory,
} from '../../src/settings/parse-settings.ts';
import type { DockerGateway } from './docker-gateway.ts';
import {
  type CheckFolder,
  checkFolder,
  confinesOfFile,
  type ReadFile,
  readSettingsFile,
} from './file.ts';
import {
  HostSettings,
  inPlaceOf,
  keepGood,
  type PluginSettings,
  parsePluginSettings,
  pause,
  pauseAmong,
} from './host-settings.ts';

/** A settings file and its scope. */
export interface SettingsFileRef {
  /** Absolute path of the file. */
  readonly file: string;
  readonly scope: Scope;
  /** Whether the file may be missing without a problem, like a project's `.mcp.json`. */
  readonly optional?: boolean;
  /** The plugin that brings the file; its name becomes part of its servers' names. */
  readonly plugin?: string;
}

/** What a host's plugins bring. */
export interface BroughtByPlugins {
  readonly files: readonly SettingsFileRef[];
  readonly plugins: readonly PluginSettings[];
}

export interface SettingsReaderPorts {
  /** Lowest precedence first, with those of the host's plugins. */
  readonly files: readonly SettingsFileRef[];
  /** Absolute path of the project. */
  readonly projectRoot: string;
  /** Absolute path of the user's home, in which the servers of their own files start. Default: each file's folder. */
  readonly home?: string;
  /** Settings that the host's plugins bring, in the format of a settings file. */
  readonly plugins?: readonly PluginSettings[];
  /** Settings of the host itself, in the format of a settings file; highest precedence. */
  readonly overlay?: Readonly<Record<string, unknown>>;
  /** The host's rules about servers. */
  readonly rules?: readonly HostRule[];
  /** The base for all policies. Default: the preset `default`. */
  readonly policy?: PolicyChoice;
  /** Called only when settings enable the gateway. Default: the gateway counts as available. */
  readonly docker?: DockerGateway;
  /** Reads a file. Default: from the disk. */
  readonly readFile?: ReadFile;
  /** Checks a folder. Default: on the disk. */
  readonly checkFolder?: CheckFolder;
}

export interface ReadSettingsFile extends Pick<SettingsFileRef, 'file' | 'scope'> {
  readonly parsed: ParsedSettings;
}

export interface SettingsReading extends MergedSettings {
  /** Each file with its content, in the order of the ports. */
  readonly files: readonly ReadSettingsFile[];
  /** A file vanished: read again after this many milliseconds, to see whether it is still missing. */
  readonly againInMs?: number;
}

/** What may have changed: anything, or only the servers that the host added one by one. */
export type ReadingScope = 'all' | 'added';

export type SettingsReader = ReturnType<typeof createSettingsReader>;

/** The result of reading everything except the added servers. */
interface Seen {
  readonly sources: readonly ParsedSettings[];
  readonly files: readonly ReadSettingsFile[];
  /** Queries Docker at the first call, because the added servers may decide whether that is needed. */
  readonly askDocker: () => ReturnType<DockerGateway['finding']> | undefined;
}

interface Remembered {
  readonly parsed: ParsedSettings;
  /** The document it was parsed from; absent if the file could not be read. */
  readonly text?: string;
  readonly openTo?: 'everyone' | 'group' | undefined;
  readonly missingSince?: number;
}

// Two seconds: editors and `git checkout` put a file back within a fraction of one, and a user who
// deleted a file does not notice the delay.
const deletionGraceMs = 2_000;

export function createSettingsReader(ports: SettingsReaderPorts) {
  const { projectRoot } = ports;
  const overlay = new HostSettings(projectRoot);
  if (ports.overlay !== undefined) overlay.replace(ports.overlay);
  const addedServers = new HostSettings(projectRoot);
  let added: ReadonlyMap<string, unknown> | undefined;
  let tell = (_scope: ReadingScope): void => {};
  let seen: Seen | undefined;
  const files = createFileReader(ports);
  let ofPlugins = pluginSettings(ports.plugins ?? [], projectRoot);

  async function readFiles(now: number): Promise<Seen> {
    // The plugins may be replaced while files are read; one reading is about one list of plugins.
    const brought = ofPlugins.map(({ plugin, parsed }) => ofPlugin(plugin, parsed));
    const present = await files.read(now);
    const sources = present.map(({ parsed }) => parsed);
    const own = await overlay.parsed();
    for (const parsed of [...brought, own && inPlaceOf({ file: '', scope: 'api' }, own)]) {
      if (parsed !== undefined) sources.push(await withFolders(parsed, ports));
    }
    let finding: ReturnType<DockerGateway['finding']> | undefined;
    return { sources, files: present, askDocker: () => (finding ??= ports.docker?.finding()) };
  }

  async function addedNow(): Promise<readonly ParsedSettings[]> {
    if (added === undefined) return [];
    addedServers.replace({ mcpServers: Object.fromEntries(added) });
    const parsed = await addedServers.parsed();
    return parsed === undefined ? [] : [await withFolders(parsed, ports)];
  }

  async function readAll(now: number, scope: ReadingScope): Promise<SettingsReading> {
    const around = scope === 'added' && seen !== undefined ? seen : await readFiles(now);
    seen = around;
    const sources = [...around.sources, ...(await addedNow())];
    sources.push(...(await gatewayAmong(sources, ports, around)));
    const servers = sources.flatMap(({ document }) => document?.servers ?? []);
    const merging = mergingSettings(sources, undefined, ports.policy, ports.rules);
    await pauseAmong(servers);
    return {
      ...(await inTurns(merging, { pause: () => pauseAmong(servers) })),
      files: around.files,
      ...files.againIn(now),
    };
  }

  let last: SettingsReading = { ...mergeSettings([], undefined, ports.policy), files: [] };
  let turn: Promise<unknown> = Promise.resolve();

  async function readSafely(now: number, scope: ReadingScope): Promise<SettingsReading> {
    try {
      const reading = await readAll(now, scope);
      const { againInMs: _againInMs, ...lasting } = reading;
      last = lasting;
      return reading;
    } catch (error) {
      // A bug in our code: running servers continue with the last settings.
      const message = `the settings could not be merged (${String(error)}); please report this`;
      const problem = { file: 'settings', message: printableLine(message, 500) };
      const { settings } = last;
      return { ...last, settings: { ...settings, problems: [...settings.problems, problem] } };
    }
  }

  return {
    /**
     * Reads everything again; for `added`, only the servers that the host added one by one. Never
     * rejects. Reads run one after another, because they share what is remembered.
     *
     * @param now - monotonic milliseconds
     */
    read(now: number, scope: ReadingScope = 'all'): Promise<SettingsReading> {
      const reading = turn.then(() => readSafely(now, scope));
      turn = reading;
      return reading;
    },
    /** Replaces the host's own settings; applies to the next read. */
    setOverlay(settings: Readonly<Record<string, unknown>>): void {
      overlay.replace(settings);
    },
    /** Replaces the servers that the host added one by one; a read uses the map's content at that time. */
    setAdded(servers: ReadonlyMap<string, unknown>): void {
      added = servers;
      tell('added');
    },
    /** Replaces the host's plugins. Those that stay keep their last good content. */
    setPlugins({ files: brought, plugins }: BroughtByPlugins): void {
      files.replaceBrought(brought);
      ofPlugins = pluginSettings(plugins, projectRoot, ofPlugins);
      tell('all');
    },
    /** The files that the next read reads. */
    files: (): readonly SettingsFileRef[] => files.refs(),
    /** Sets the function that is called whenever the added servers or the plugins are replaced. */
    listen(onReplaced: (scope: ReadingScope) => void): void {
      tell = onReplaced;
    },
  };
}

/** Reads all files, and remembers the last good content of each. */
function createFileReader(ports: SettingsReaderPorts) {
  const memory = new Map<SettingsFileRef, Remembered>();
  const entries = new WeakMap<SettingsFileRef, SettingsMemory>();
  let { files: refs } = ports;

  function entriesOf(ref: SettingsFileRef): SettingsMemory {
    const known = entries.get(ref) ?? new SettingsMemory();
    entries.set(ref, known);
    return known;
  }

  async function readOne(ref: SettingsFileRef, now: number): Promise<Remembered> {
    const before = memory.get(ref);
    const reading = await readFileOf(ref, before, entriesOf(ref), ports);
    if ('parsed' in reading) return { ...reading, parsed: inPlaceOf(ref, reading.parsed) };
    if (before?.parsed.document === undefined) return { parsed: absent(ref) };
    const missingSince = before.missingSince ?? now;
    if (now - missingSince >= deletionGraceMs) return { parsed: absent(ref) };
    return { parsed: before.parsed, missingSince };
  }

  return {
    refs: () => refs,
    async read(now: number): Promise<readonly ReadSettingsFile[]> {
      const files: ReadSettingsFile[] = [];
      for (const ref of refs) {
        const read = await readOne(ref, now);
        memory.set(ref, read);
        const { file, scope } = ref;
        files.push({ file, scope, parsed: await withFolders(read.parsed, ports) });
      }
      for (const ref of memory.keys()) if (!refs.includes(ref)) memory.delete(ref);
      return files;
    },
    /** When to read again, because a file has vanished. */
    againIn(now: number): Pick<SettingsReading, 'againInMs'> {
      const waits = [...memory.values()].flatMap(({ missingSince }) =>
        missingSince === undefined ? [] : [missingSince + deletionGraceMs - now],
      );
      return waits.length === 0 ? {} : { againInMs: Math.max(0, Math.min(...waits)) };
    },
    /** Replaces the files of plugins; those that stay are still remembered. */
    replaceBrought(brought: readonly SettingsFileRef[]): void {
      const known = (ref: SettingsFileRef): SettingsFileRef =>
        refs.find(({ plugin, file }) => plugin === ref.plugin && file === ref.file) ?? ref;
      refs = [...ports.files.filter(({ plugin }) => plugin === undefined), ...brought.map(known)];
    },
  };
}

/** Settings that plugins provide without a file; invalid ones keep their last good content. */
function pluginSettings(
  plugins: readonly PluginSettings[],
  projectRoot: string,
  before: readonly ParsedPlugin[] = [],
): readonly ParsedPlugin[] {
  return plugins.map((given) => {
    const { plugin } = given;
    const known = before.find((each) => each.plugin === plugin);
    return { plugin, parsed: keepGood(known, parsePluginSettings(given, projectRoot)) };
  });
}

interface ParsedPlugin {
  readonly plugin: string;
  readonly parsed: ParsedSettings;
}

/** Reads one file. Never rejects. */
async function readFileOf(
  { file, scope, plugin }: SettingsFileRef,
  before: Remembered | undefined,
  entries: SettingsMemory,
  { projectRoot, home, readFile = readSettingsFile }: SettingsReaderPorts,
): Promise<Remembered | { readonly missing: true }> {
  try {
    const reading = await readFile(file, confinesOfFile({ file, scope }, projectRoot));
    if ('text' in reading) {
      const { text } = reading;
      // A folder's servers need approval anyway, so its files may be writable by other users.
      const openTo = isPrivileged(scope) ? reading.openTo : undefined;
      // Only the edited file is parsed again.
      if (text === before?.text && openTo === before.openTo)
        return { parsed: before.parsed, text, openTo };
      if (openTo === 'everyone')
        return {
          parsed: keepGood(before, { problems: [openProblem(file, openTo)] }),
          text,
          openTo,
        };
      const origin = { file, scope, projectRoot, ...defined({ home }) };
      const parsed = await parseSettingsFile(text, origin, { memory: entries, pause });
      const named = plugin === undefined ? parsed : ofPlugin(plugin, parsed);
      const good = keepGood(before, named);
      const problems =
        openTo === 'group' ? [...good.problems, openProblem(file, openTo)] : good.problems;
      return { parsed: { ...good, problems }, text, openTo };
    }
    if ('missing' in reading) return reading;
    return { parsed: keepGood(before, { problems: [{ file, message: reading.message }] }) };
  } catch (error) {
    // A bug of ours must cost this file's changes only, not all settings.
    const message = `the file could not be understood (${String(error)}); please report this`;
    const problems = [{ file, message: printableLine(message, 500) }];
    return { parsed: keepGood(before, { problems }) };
  }
}

function openProblem(file: string, openTo: 'everyone' | 'group'): Problem {
  const quoted = quotedFor('shell', file);
  const message =
    openTo === 'everyone'
      ? `every user of this machine may change this file, so it is not used; run: chmod o-w ${quoted}`
      : `other users of its group may change this file, and its servers run as you; unless you trust them all, run: chmod g-w ${quoted}`;
  return { file, message, ...(openTo === 'group' && { severity: 'warning' }) };
}

async function withFolders(
  parsed: ParsedSettings,
  { checkFolder: faultOf = checkFolder, projectRoot }: SettingsReaderPorts,
): Promise<ParsedSettings> {
  if (parsed.document === undefined) return parsed;
  const faults = new Map<string, FolderFault>();
  const within = isFolderScope(parsed.document.scope) ? projectRoot : undefined;
  for (const folder of foldersOf(parsed.document)) {
    const fault = await faultOf(folder, within);
    if (fault !== undefined) faults.set(folder, fault);
  }
  return { ...parsed, document: refuseFolders(parsed.document, faults) };
}

/** Returns the server of Docker's gateway, if settings enable it. */
async function gatewayAmong(
  parsed: readonly ParsedSettings[],
  { docker, projectRoot }: SettingsReaderPorts,
  { askDocker }: Seen,
): Promise<readonly ParsedSettings[]> {
  const choice = dockerGatewayChoice(parsed.flatMap(({ document }) => document ?? []));
  if (choice === undefined) return [];
  const facts = { variables: docker?.variables ?? [], finding: await askDocker() };
  return [dockerGatewaySource(choice, { projectRoot, ...facts })];
}

/** Reads settings once, for commands that only show them. Never rejects. */
export async function readSettings(ports: SettingsReaderPorts): Promise<SettingsReading> {
  const reader = createSettingsReader(ports);
  const reading = await reader.read(0);
  return (await ports.docker?.settled()) ? reader.read(0) : reading;
}

function absent(ref: SettingsFileRef): ParsedSettings {
  const { file, optional } = ref;
  if (optional === true) return { problems: [] };
  return inPlaceOf(ref, {
    problems: [{ file, message: 'the file does not exist; create it or leave it out' }],
  });
}
