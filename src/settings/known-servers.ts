/**
 * Remembers the servers of a source's latest settings, so that only an entry that changed is
 * validated and hashed again. An entry that moved to another line keeps everything but its lines.
 */

import type { InputDefinition } from '../domain/input.ts';
import type { Problem } from '../domain/settings.ts';
import type { DocumentOrigin } from './entry/places.ts';
import { type ParsedServer, parseServerEntry } from './entry/server-entry.ts';
import {
  type EntryText,
  entryOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from './settings-tree.ts';

/** Everything but its line that decides what an entry means. */
type Content = EntryText | string;

interface Placed {
  readonly line: number;
  readonly server: ParsedServer;
}

interface Known {
  /** An entry's text does not say where it is. */
  readonly written: TreePath;
  readonly parsed: Placed;
  /** The same object as at the last reading, so that nothing is recomputed from it. */
  latest: Placed;
}

/** Parses entries, or finds them among those of the last reading. */
export interface EntryParser {
  readonly parse: (member: TreeMember) => {
    readonly server: ParsedServer;
    readonly isNew: boolean;
  };
  /** Forgets the entries that were not parsed this time. */
  readonly end: () => void;
}

export class KnownServers {
  #known: ReadonlyMap<Content, Known> = new Map();
  #circumstances = '';

  /** Starts a reading. @param inputs - those declared in the same document */
  parser(origin: DocumentOrigin, inputs: readonly InputDefinition[]): EntryParser {
    const circumstances = JSON.stringify([origin, inputs]);
    const before = circumstances === this.#circumstances ? this.#known : new Map<Content, Known>();
    const present = new Map<Content, Known>();
    const parse: EntryParser['parse'] = (member) => {
      const content = entryOf(member) ?? contentOf(member);
      const { line, written = [] } = member;
      const known = present.get(content) ?? before.get(content);
      if (known !== undefined && isSamePath(known.written, written) && isMovable(known, line)) {
        if (known.latest.line !== line)
          known.latest = { line, server: movedTo(line, known.parsed) };
        present.set(content, known);
        return { server: known.latest.server, isNew: false };
      }
      const server = parseServerEntry(member, origin, inputs);
      const parsed = { line, server };
      present.set(content, { written, parsed, latest: parsed });
      return { server, isNew: true };
    };
    const end = (): void => {
      this.#known = present;
      this.#circumstances = circumstances;
    };
    return { parse, end };
  }
}

/** The message about an invalid entry may name a line. */
function isMovable({ latest: { server, ...latest } }: Known, line: number): boolean {
  return latest.line === line || server.desired.invalid === undefined;
}

function isSamePath(one: TreePath, other: TreePath): boolean {
  return one.length === other.length && one.every((part, index) => part === other[index]);
}

/** The content of an entry that was converted or is not JSON, with its lines counted from its own. */
function contentOf({ name, line, node, written = [] }: TreeMember): string {
  return JSON.stringify([name, written, shapeOf(node, line)]);
}

function shapeOf(node: TreeNode, from: number): unknown {
  const line = node.line - from;
  if (node.kind === 'scalar') return [line, typeof node.value, node.text ?? String(node.value)];
  if (node.kind === 'array') return [line, node.items.map((item) => shapeOf(item, from))];
  const members = node.members.map(({ name, line: at, node: inner, written = [] }) => [
    name,
    at - from,
    written,
    shapeOf(inner, from),
  ]);
  return { line, members };
}

/** Returns the server of an entry that is now on another line. */
function movedTo(line: number, { line: from, server }: Placed): ParsedServer {
  const { desired, folder, withoutConsent, problems } = server;
  // Settings of a host have no lines.
  if (desired.source.line === undefined) return server;
  const moved = (problem: Problem): Problem =>
    problem.line === undefined ? problem : { ...problem, line: problem.line + line - from };
  return {
    ...server,
    problems: problems.map(moved),
    ...(folder && {
      folder: { path: folder.path, problemOf: (fault) => moved(folder.problemOf(fault)) },
    }),
    ...(withoutConsent && { withoutConsent: moved(withoutConsent) }),
    desired: {
      ...desired,
      source: { ...desired.source, line: desired.source.line + line - from },
    },
  };
}
