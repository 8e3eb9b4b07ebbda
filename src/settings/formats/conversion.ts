/** The result of converting another program's settings, and its context. */

import type { Fault, TreeMember } from '../settings-tree.ts';

/** Formats of settings documents. */
export type FormatName =
  | 'mcpServers'
  | 'vscode'
  | 'codex'
  | 'opencode'
  | 'crush'
  | 'goose'
  | 'zed'
  | 'codebuddy'
  | 'docker-agent';

/** Settings in our format; every part keeps its place in the text. */
export interface Conversion {
  readonly format: FormatName;
  /** Entries of `mcpServers`. */
  readonly servers: readonly TreeMember[];
  /** Whether all entries are those of `mcpServers` at the top, as they are written. */
  readonly isPlain?: boolean;
  /** The `mcp` section, if the format has an equivalent. */
  readonly mcp?: TreeMember;
  /** Definitions of the inputs that `${input:id}` refers to. */
  readonly inputs?: TreeMember;
  /** Parts that were not converted, with reasons and next steps. */
  readonly faults: readonly Fault[];
  /** Warnings about names that are not valid here and were changed. */
  readonly renamed?: readonly Fault[];
}

export interface ConversionContext {
  /** Absolute path of the project, for programs that keep settings by project. */
  readonly projectRoot: string;
  /** The program that owns the file, if known. */
  readonly program?: string;
  /** The file's path, which may tell the program where the content does not. */
  readonly file?: string;
  /** Whether it can only be of ours, so that a name or key that is unknown is a mistake. */
  readonly isOwn?: boolean;
  /** Whether it is the host's object, whose numbers have no source text. */
  readonly isHostObject?: boolean;
}

/** Returns whether a file holds nothing but our settings: `troupe.json`, and those of a folder `.troupe`. */
export function isOwnFile(file: string): boolean {
  return /(?:^|[/\\])(?:troupe\.jsonc?|\.troupe[/\\][^/\\]+)$/u.test(file);
}
