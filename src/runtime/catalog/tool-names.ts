/** The names by which callers refer to tools. */

import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';

/**
 * Which tool a caller refers to: the server's own name, with the expected definition if that
 * matters, or an exposed name to resolve.
 */
export type ToolAddress =
  | { readonly server: string; readonly tool: string; readonly shown?: ExposedTool }
  | { readonly server: string; readonly exposedName: string };

/** The tools that a caller may use, and their names for it: the troupe's, or those of a view. */
export interface ToolNames {
  /** All tools, sorted by exposed name. */
  all(): readonly ExposedTool[];
  of(server: string): readonly ExposedTool[];
  named(exposedName: string): ExposedTool | undefined;
  /** The tools that an alias may refer to. */
  aliased(name: string): readonly Pick<ExposedTool, 'server' | 'tool'>[];
  /** Returns why a tool with this name is not shown; undefined if that must not be known. */
  withheld(desired: DesiredServer, name: string): TroupeError | undefined;
  /** The tool as the troupe shows it, with its server's own name. */
  wholeOf(shown: ExposedTool): ExposedTool;
  /** The server's own name of a tool; undefined while it is not known. */
  ownName(address: ToolAddress): string | undefined;
  /** The name of a server's tool, by the server's own. */
  shownName(server: string, ownName: string): string;
}
