/** Warnings about entries of the user's own files that start elsewhere than in the project, which may be meant. */

import path from 'node:path';
import { checkFolder } from '../../../actors/settings/file.ts';
import type {
  ReadSettingsFile,
  SettingsReaderPorts,
} from '../../../actors/settings/last-good-settings.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { StdioSpec } from '../../domain/server-spec.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { argsHere, scriptAt } from '../../settings/entry/folder-words.ts';
import { projectPath } from '../../settings/entry/places.ts';
import type { ParsedServer } from '../../settings/entry/server-entry.ts';

/** A warning at a key of the entry. */
export interface PlaceWarning {
  readonly key: string;
  readonly message: string;
}

type Ports = Pick<SettingsReaderPorts, 'home' | 'projectRoot'>;

const longestShown = 200;
const ownScopes: readonly string[] = ['user', 'managed', 'config'];

/** Finds the stray paths of any server that these files declare. */
export function strayPathsIn(files: readonly ReadSettingsFile[], ports: Ports) {
  // The first of two entries with one name counts.
  const declared = files.map(({ file, scope, parsed: { document } }) => {
    const servers = document?.servers ?? [];
    const byName = new Map(servers.toReversed().map((it) => [it.desired.name, it]));
    return { file, scope, servers, byName };
  });
  return async ({ name, source }: DesiredServer): Promise<readonly PlaceWarning[]> => {
    const { file, scope } = source;
    const found = declared.find((it) => it.file === file && it.scope === scope);
    const server = found?.byName.get(name);
    return server === undefined ? [] : strayPaths(server, found?.servers ?? [], ports);
  };
}

/**
 * Lists the relative paths of an own entry that begin elsewhere than in the project: those that begin with a dot, and a
 * script that is not there. What may also be a name counts only if the project has such a file and the other folder none.
 */
async function strayPaths(
  server: ParsedServer,
  servers: readonly ParsedServer[],
  { projectRoot, home }: Ports,
): Promise<readonly PlaceWarning[]> {
  const { spec } = server;
  const { scope } = server.desired.source;
  if (spec?.type !== 'stdio' || !ownScopes.includes(scope)) return [];
  const { cwd } = spec;
  if (server.isBesideFile === true) return strayFolder(server, spec, projectRoot);
  if (server.isPlaced !== false || cwd === projectRoot) return [];
  if (!(await exists(cwd))) {
    // Named once, for all that start there.
    const first = servers.find((it) => it.isPlaced === false && it.desired.enabled);
    return first === server ? [missingHome(cwd)] : [];
  }
  const isStrict = scope !== 'config' || cwd === home;
  const meant = meantIn(projectRoot, spec);
  const found = textsOf(spec).map(async ({ key, text, mayBe }) => {
    const way = /^(?:--?[\w-]+=)?(.*)$/su.exec(text)?.[1] ?? '';
    const { isPath, isSure } = shapeOf(way, mayBe);
    if (!isPath) return [];
    const [here, there] = await Promise.all([
      exists(path.resolve(cwd, way)),
      exists(path.resolve(projectRoot, way)),
    ]);
    const isStray = isSure
      ? isStrict || isBare(way) || !here
      : !here && (there || mayBe === 'script');
    if (!isStray) return [];
    const message = `the server starts in ${shown(cwd)}, where "${shown(way)}" begins; for the project, write "${shown(meant(way))}"`;
    return [{ key, message }];
  });
  return (await Promise.all(found)).flat();
}

/** A named file may be about its own folder; one that says so without need means the project. */
async function strayFolder(
  { desired }: ParsedServer,
  spec: StdioSpec,
  projectRoot: string,
): Promise<readonly PlaceWarning[]> {
  const from = path.dirname(desired.source.file ?? '');
  const way = path.relative(from, spec.cwd) || '.';
  if (spec.cwd === projectRoot || (desired.source.scope === 'config' && way !== '.')) return [];
  const meant = meantIn(projectRoot, spec)(way);
  const message = `"${shown(way)}" begins at the folder of this file, ${shown(from)}; for the project, write "${shown(meant)}"`;
  return [{ key: 'cwd', message }];
}

function missingHome(home: string): PlaceWarning {
  const message = `the server starts in your home folder, ${shown(home)}, which does not exist; create it, set HOME, or write "cwd"`;
  return { key: 'command', message };
}

type Kind = 'argument' | 'script' | 'value' | 'place';

interface PlacedText {
  readonly key: string;
  readonly text: string;
  readonly mayBe: Kind;
}

// What such a variable holds is a path, even a single word.
const placeNames = /(?:^|_)(?:PATH|DIR|DIRECTORY|FOLDER|ROOT|FILE|CWD)$/iu;

function textsOf(spec: StdioSpec): readonly PlacedText[] {
  const script = scriptAt(spec.command, spec.args);
  const words = argsHere(spec).map((text, at): PlacedText => {
    return { key: `args.${at}`, text, mayBe: at === script ? 'script' : 'argument' };
  });
  const values = Object.entries(spec.env).map(([name, text]): PlacedText => {
    return { key: `env.${name}`, text, mayBe: placeNames.test(name) ? 'place' : 'value' };
  });
  return [...words, ...values];
}

/** Whether a string can be a relative path at all, and whether it can be nothing else. */
function shapeOf(way: string, mayBe: Kind): { readonly isPath: boolean; readonly isSure: boolean } {
  // A single dot or two may be a separator.
  const isDotted = /^\.\.?[\\/]/u.test(way) || (isBare(way) && mayBe !== 'value');
  // No address, pattern or scoped package.
  const isPlain = /^[\w.+ -]+(?:[\\/][\w.+@ -]*)*$/u.test(way) && !/^(?:-|\.{3})/u.test(way);
  const hasForm = mayBe === 'place' || /[\\/]|^\.\w|\.[a-z]\w{0,9}$/iu.test(way);
  return { isPath: isDotted || (isPlain && hasForm), isSure: isDotted };
}

function isBare(way: string): boolean {
  return way === '.' || way === '..';
}

/** How to write a path of the project. Literal text holds no reference. */
function meantIn(projectRoot: string, { values }: StdioSpec): (way: string) => string {
  return values?.literal === true ? (way) => path.resolve(projectRoot, way) : projectPath;
}

async function exists(place: string): Promise<boolean> {
  return (await checkFolder(place)) !== 'missing';
}

function shown(text: string): string {
  return printableLine(text, longestShown);
}
