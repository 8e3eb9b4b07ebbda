/**
 * What clients of the gateway see of the servers, and which server they mean: all servers
 * under names that tell them apart, or one as if it were the only one.
 */

import type {
  CompletionRequest,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
} from '../domain/catalog.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { printableLine } from '../policies/text/printable.ts';
import type { Troupe } from '../runtime/troupe.ts';
import { exposedNames, readingsOf } from './exposed-names.ts';
import { addressFor, readAddress, withAddress } from './resource-address.ts';

type Item = Readonly<Record<string, unknown>>;

/** A server and its own name of what is meant. */
export interface Meant {
  readonly server: string;
  readonly name: string;
}

export interface View {
  tools(): readonly Item[];
  prompts(): readonly Item[];
  resources(): readonly Item[];
  resourceTemplates(): readonly Item[];
  /** @throws TroupeError when no server can be meant. */
  toolNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  promptNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  resourceAt(address: string): Meant;
  /** The address of a server's resource as clients see it. */
  addressOf(server: string, uri: string): string;
  /** Blocks of content, or contents of a resource, with addresses as clients see them. */
  blocks(server: string, blocks: readonly Item[]): readonly Item[];
  contents(server: string, contents: readonly Item[]): readonly Item[];
}

/** All servers, each behind its name. */
export function viewOfAll(troupe: Troupe): View {
  const tools = derived(
    () => troupe.tools(),
    (list) => exposedNames(list.map((tool) => ({ server: tool.server, name: tool.tool, tool }))),
  );
  const prompts = derived(
    () => troupe.prompts(),
    (list) => exposedNames(list),
  );
  const servers = (): readonly string[] => troupe.snapshot().servers.map(({ name }) => name);
  const shownTools = derived(tools, (named) =>
    [...named].map(([name, { tool }]) => toolItem(name, tool)),
  );
  const shownPrompts = derived(prompts, (named) =>
    [...named].map(([name, prompt]) => offerItem(prompt, { name })),
  );
  const shownResources = derived(
    () => troupe.resources(),
    (list) => list.map((each) => offerItem(each, { uri: addressFor(each.server, each.uri) })),
  );
  const shownTemplates = derived(
    () => troupe.resourceTemplates(),
    (list) =>
      list.map((each) =>
        offerItem(each, { uriTemplate: addressFor(each.server, each.uriTemplate) }),
      ),
  );
  return {
    tools: shownTools,
    prompts: shownPrompts,
    resources: shownResources,
    resourceTemplates: shownTemplates,
    toolNamed: (name) => tools().get(name) ?? guess('tool', name, servers(), [...tools().keys()]),
    promptNamed: (name) =>
      prompts().get(name) ?? guess('prompt', name, servers(), [...prompts().keys()]),
    resourceAt(address) {
      const read = readAddress(address);
      if (read !== undefined) return { server: read.server, name: read.uri };
      throw new TroupeError(
        'SERVER_UNKNOWN',
        `No server has the resource ${printableLine(address, 128)}. Addresses begin with troupe:// and the name of a server: see resources/list.`,
      );
    },
    addressOf: addressFor,
    blocks: (server, blocks) => blocks.map((block) => withAddress(server, block)),
    contents: (server, contents) =>
      contents.map((each) =>
        typeof each['uri'] === 'string' ? { ...each, uri: addressFor(server, each['uri']) } : each,
      ),
  };
}

/** One server, under its own names. */
export function viewOfOne(troupe: Troupe, server: string): View {
  const own = <Listed extends { readonly server: string }>(list: readonly Listed[]) =>
    list.filter((each) => each.server === server);
  const meant = (name: string): Meant => ({ server, name });
  return {
    tools: derived(
      () => troupe.tools(),
      (list) => own(list).map((tool) => toolItem(tool.tool, tool)),
    ),
    prompts: derived(
      () => troupe.prompts(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    resources: derived(
      () => troupe.resources(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    resourceTemplates: derived(
      () => troupe.resourceTemplates(),
      (list) => own(list).map((each) => offerItem(each)),
    ),
    toolNamed: meant,
    promptNamed: meant,
    resourceAt: meant,
    addressOf: (_server, uri) => uri,
    blocks: (_server, blocks) => blocks,
    contents: (_server, contents) => contents,
  };
}

/** The reference of a completion in the words of its server. */
export function refOf(view: View, ref: CompletionRequest['ref']): Meant & CompletionRequestRef {
  if (ref.type === 'ref/prompt') {
    const meant = view.promptNamed(ref.name);
    return { ...meant, ref: { type: 'ref/prompt', name: meant.name } };
  }
  const meant = view.resourceAt(ref.uri);
  return { ...meant, ref: { type: 'ref/resource', uri: meant.name } };
}

type CompletionRequestRef = Pick<CompletionRequest, 'ref'>;

/** A result as its server sent it, but for the addresses in it. */
export function shownResult(view: View, server: string, result: ToolResult): Item {
  return { ...result, content: view.blocks(server, result.content) };
}

function toolItem(name: string, tool: ExposedTool): Item {
  const { title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

type Offered = ExposedPrompt | ExposedResource | ExposedResourceTemplate;

/** What the server announced, without what we added to it. */
function offerItem(listed: Offered, own: Item = {}): Item {
  const { server: _server, catalog: _catalog, ...item } = listed;
  return { ...item, ...own };
}

/** A name that is on no list yet may be one of a server that is only starting. */
function guess(
  kind: 'tool' | 'prompt',
  name: string,
  servers: readonly string[],
  known: readonly string[],
): Meant {
  const [reading] = readingsOf(name, servers);
  if (reading !== undefined) return reading;
  const separator = name.indexOf('__');
  // Perhaps of a server that was removed: whoever knows says so.
  if (separator > 0 && separator < name.length - 2)
    return { server: name.slice(0, separator), name: name.slice(separator + 2) };
  throw unknownName(kind, name, known);
}

/** The error for a name that nothing has. */
export function unknownName(
  kind: 'tool' | 'prompt',
  name: string,
  known: readonly string[],
): TroupeError {
  const closest = closestName(name, known);
  const hint = closest === undefined ? `See ${kind}s/list.` : `Did you mean ${closest}?`;
  const shown = printableLine(name, 128);
  return new TroupeError('TOOL_UNKNOWN', `There is no ${kind} ${shown}. ${hint}`, {
    ...(kind === 'tool' ? { tool: shown } : {}),
  });
}

/** Makes a value anew only when what it is made of is another object. */
function derived<Source extends object, Value>(
  source: () => Source,
  make: (present: Source) => Value,
): () => Value {
  let last: { readonly source: Source; readonly value: Value } | undefined;
  return () => {
    const present = source();
    if (last?.source !== present) last = { source: present, value: make(present) };
    return last.value;
  };
}
