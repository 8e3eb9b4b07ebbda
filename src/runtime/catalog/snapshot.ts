import type { ExposedTool } from '../../domain/tool.ts';
import { unknownTool } from '../errors/unknown-name.ts';
import { checkName } from '../options/check.ts';
import type { CallOptions, CallReport, CatalogSnapshot } from '../troupe.ts';

/** Calls this very tool, and refuses when another has its place by then. */
export type CallShownTool = (
  shown: ExposedTool,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions,
) => Promise<CallReport>;

/** Holds on to the tools of one moment. A name means here what it meant then. */
export function catalogSnapshot(
  tools: readonly ExposedTool[],
  call: CallShownTool,
): CatalogSnapshot {
  return {
    tools,
    async callTool(name, args = {}, options = {}) {
      checkName('name of the tool', name);
      const shown = tools.find((tool) => tool.name === name);
      if (shown === undefined) throw unknownTool(name, tools);
      return call(shown, args, options);
    },
  };
}
