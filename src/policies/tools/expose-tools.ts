/** Makes the tools that callers see from those that servers list. */

import { defined } from '../../domain/data/defined.ts';
import { keepNumbers } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { NamingPolicy } from '../../domain/policy.ts';
import type { ToolFilter } from '../../domain/settings.ts';
import type { ExposedTool, ListedTool, ToolAnnotations, ToolTraits } from '../../domain/tool.ts';
import { equalData } from '../equal-data.ts';
import { madeFrom, originOf } from './announced.ts';
import { passesFilter } from './filter.ts';
import { printableSchema } from './schema-words.ts';
import { type NamedTool, type NamelessTool, uniqueNames } from './unique-names.ts';

const maxTitleLength = 128;
/** Characters of a description that sessions read. */
const readDescription = 16_384;

/** The tools of one server, as far as they are known. */
export interface ServerTools {
  readonly server: string;
  readonly filter: ToolFilter;
  readonly catalog: ExposedTool['catalog'];
  readonly tools: readonly ListedTool[];
  /** Characters of a description that are shown; 0 = none at all. */
  readonly descriptionMaxLength: number;
  readonly naming: NamingPolicy;
  /** Whether the server's annotations are trusted. */
  readonly trust: boolean;
}

/**
 * Lists the tools that callers see, sorted by the unique names that {@link uniqueNames} gives them. If a server
 * lists a tool twice, the first counts.
 *
 * @param onNameless - called for each tool that is left out because of its name
 */
export function exposeTools(
  servers: readonly ServerTools[],
  onNameless?: (tool: NamelessTool) => void,
): readonly ExposedTool[] {
  return uniqueNames(servers.flatMap(originsOf), onNameless).map(([name, origin]) =>
    exposed(name, origin),
  );
}

interface Origin extends NamedTool {
  readonly from: ServerTools;
  readonly listed: ListedTool;
}

function originsOf(from: ServerTools): readonly Origin[] {
  const byName = new Map<string, Origin>();
  const { server, naming } = from;
  for (const listed of from.tools) {
    const { name: tool } = listed;
    if (byName.has(tool) || !passesFilter(from.filter, tool)) continue;
    byName.set(tool, { server, tool, naming, from, listed });
  }
  return [...byName.values()];
}

// Cleaning a description is the largest cost here, and most tools are unchanged, so equal inputs
// give the same object, which is also fast to compare.
const exposures = new WeakMap<ListedTool, { readonly key: string; readonly made: ExposedTool }>();

function exposed(name: string, { from, listed: tool }: Origin): ExposedTool {
  const { server, catalog, descriptionMaxLength, trust } = from;
  const key = JSON.stringify([name, server, catalog, descriptionMaxLength, trust]);
  const known = exposures.get(tool);
  if (known?.key === key) return known.made;
  const made = makeExposed(name, from, tool);
  exposures.set(tool, { key, made });
  return made;
}

type Maker = Pick<ServerTools, 'server' | 'catalog' | 'descriptionMaxLength' | 'trust'>;

const cuts = new WeakMap<ListedTool, { readonly at: number; readonly isCut: boolean }>();

/** Whether descriptions of this tool are cut when they may have so many characters. */
export function isCutAt(descriptionMaxLength: number, tool: ListedTool): boolean {
  const known = cuts.get(tool);
  if (known?.at === descriptionMaxLength) return known.isCut;
  const from = { server: '', catalog: 'live', descriptionMaxLength, trust: false } as const;
  const isCut = makeExposed('', from, tool).isCut === true;
  cuts.set(tool, { at: descriptionMaxLength, isCut });
  return isCut;
}

function makeExposed(name: string, from: Maker, tool: ListedTool): ExposedTool {
  const { server, catalog, descriptionMaxLength, trust } = from;
  const { description, inputSchema, outputSchema, annotations } = tool;
  const { icons, execution, _meta: meta, extra } = tool;
  const title = tool.title ?? annotations?.title;
  const words = { description: descriptionMaxLength, title: maxTitleLength };
  const isDescribed = description !== undefined && descriptionMaxLength > 0;
  const shown: ExposedTool = {
    name,
    server,
    tool: tool.name,
    ...(title !== undefined && { title: printableLine(title, maxTitleLength) }),
    ...(isDescribed && { description: printableText(description, descriptionMaxLength) }),
    inputSchema: printableSchema(inputSchema, words),
    ...(outputSchema && { outputSchema: printableSchema(outputSchema, words) }),
    ...(annotations && {
      annotations: shownAnnotations(annotations),
      traits: traitsOf(annotations, trust),
    }),
    ...defined({ icons, execution, _meta: meta, extra }),
    ...(isForAppOnly(tool) && { appOnly: true }),
    catalog,
  };
  const isCut = descriptionMaxLength < readDescription && isShortened(shown, from, tool);
  return madeFrom(isCut ? { ...shown, isCut } : shown, tool);
}

/** Whether the policy leaves out a part of a description, also in the schemas. */
function isShortened(shown: ExposedTool, from: Maker, tool: ListedTool): boolean {
  const whole = makeExposed(shown.name, { ...from, descriptionMaxLength: readDescription }, tool);
  return !equalData(shown, whole);
}

/** Whether a tool is for the user interface of an MCP App only, and not for models. */
function isForAppOnly({ _meta: meta }: ListedTool): boolean {
  const ui = meta?.['ui'];
  const visibility = isRecord(ui) ? ui['visibility'] : undefined;
  return (
    Array.isArray(visibility) && visibility.length > 0 && visibility.every((to) => to === 'app')
  );
}

/** Returns whether callers see the same tools, and their servers announced them alike. */
export function sameTools(
  some: readonly ExposedTool[] | undefined,
  others: readonly ExposedTool[] | undefined,
): boolean {
  if (!equalData(some, others)) return false;
  const all = (tools: readonly ExposedTool[] | undefined) => tools?.map(originOf);
  return equalData(all(some), all(others));
}

function shownAnnotations(annotations: ToolAnnotations): ToolAnnotations {
  if (annotations.title === undefined) return annotations;
  const title = printableLine(annotations.title, maxTitleLength);
  return keepNumbers({ ...annotations, title }, annotations);
}

/** Missing hints have the protocol's defaults: a tool may write, destroy, and reach anything. */
function traitsOf(annotations: ToolAnnotations, trust: boolean): ToolTraits {
  const { readOnlyHint, destructiveHint, openWorldHint } = annotations;
  const readOnly = trust && readOnlyHint === true;
  return {
    readOnly,
    // Calls that only read do not interfere with each other.
    concurrencySafe: readOnly,
    destructive: !readOnly && !(trust && destructiveHint === false),
    openWorld: !(trust && openWorldHint === false),
  };
}
