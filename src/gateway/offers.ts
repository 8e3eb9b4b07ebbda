/**
 * Maps the servers' names and URIs to those that clients of the gateway see: all servers with prefixed names, a
 * view of them with the names of the view, or one server under its own names.
 */

import { createHash } from 'node:crypto';
import type {
  CompletionRequest,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
} from '../domain/catalog.ts';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { printableLine } from '../domain/data/printable.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { compare } from '../policies/text/compare.ts';
import { announcedAs, wireForm } from '../policies/tools/announced.ts';
import type { Troupe } from '../runtime/troupe.ts';

type Item = Readonly<Record<string, unknown>>;
type ShownTroupe = Pick<
  Troupe,
  'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'snapshot'
>;

/** A server and its own name for an item. */
interface Meant {
  readonly server: string;
  readonly name: string;
}

export interface Offers {
  tools(): readonly Item[];
  /** The tools without those that are for the user interface of an MCP App only. */
  toolsForModels(): readonly Item[];
  prompts(): readonly Item[];
  resources(): readonly Item[];
  resourceTemplates(): readonly Item[];
  /** @throws TroupeError when no server can be meant. */
  toolNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  promptNamed(name: string): Meant;
  /** @throws TroupeError when no server can be meant. */
  resourceAt(address: string): Meant;
  /** The URI of a server's resource as clients see it. */
  addressOf(server: string, uri: string): string;
  /** Blocks of content, or contents of a resource, with URIs as clients see them. */
  blocks(server: string, blocks: readonly Item[]): readonly Item[];
  contents(server: string, contents: readonly Item[]): readonly Item[];
}

/**
 * Shows all servers with prefixed names, or only one under its own names.
 * @param isView - whether the troupe is a view, which names tools itself
 */
export function createOffers(
  troupe: ShownTroupe,
  only: string | undefined,
  isView: boolean,
): Offers {
  const isShown = ({ server }: { readonly server: string }): boolean =>
    only === undefined || server === only;
  const named = <Named extends Meant>(items: readonly Named[]): ReadonlyMap<string, Named> =>
    only === undefined
      ? exposedNames(items)
      : new Map(items.filter(isShown).map((item) => [item.name, item]));
  const addressOf = (server: string, uri: string): string =>
    only === undefined ? addressFor(server, uri) : uri;
  const tools = derived(
    () => troupe.tools(),
    (list) => {
      const found = list.map((tool) => ({ server: tool.server, name: tool.tool, tool }));
      const isNamed = isView && only === undefined;
      return isNamed ? new Map(found.map((it) => [it.tool.name, it])) : named(found);
    },
  );
  const prompts = derived(
    () => troupe.prompts(),
    (list) => named(list),
  );
  const find = (kind: 'tool' | 'prompt', items: ReadonlyMap<string, Meant>, name: string): Meant =>
    only === undefined
      ? (items.get(name) ?? guess(kind, name, troupe.snapshot().servers, [...items.keys()]))
      : { server: only, name };
  const toolItems = (items: ReturnType<typeof tools>, isListed: (tool: ExposedTool) => boolean) =>
    [...items]
      .filter(([, { tool }]) => isListed(tool))
      .map(([name, { tool }]) => {
        // A policy that cuts descriptions also does so here.
        const isWhole = only !== undefined && tool.isCut !== true;
        if (!isWhole) return toolItem(name, tool);
        const announced = announcedAs(tool);
        // A view may have renamed it.
        return isView ? keepNumbers({ ...announced, name }, announced) : announced;
      });
  const offerItem = only === undefined ? shownItem : announcedAs;
  return {
    tools: derived(tools, (items) => toolItems(items, () => true)),
    toolsForModels: derived(tools, (items) => toolItems(items, ({ appOnly }) => appOnly !== true)),
    prompts: derived(prompts, (items) =>
      [...items].map(([name, prompt]) => offerItem(prompt, { name })),
    ),
    resources: derived(
      () => troupe.resources(),
      (list) =>
        list
          .filter(isShown)
          .map((each) => offerItem(each, { uri: addressOf(each.server, each.uri) })),
    ),
    resourceTemplates: derived(
      () => troupe.resourceTemplates(),
      (list) =>
        list
          .filter(isShown)
          .map((each) =>
            offerItem(each, { uriTemplate: addressOf(each.server, each.uriTemplate) }),
          ),
    ),
    toolNamed: (name) => find('tool', tools(), name),
    promptNamed: (name) => find('prompt', prompts(), name),
    resourceAt: (address) =>
      only === undefined ? readAddress(address) : { server: only, name: address },
    addressOf,
    blocks: (server, blocks) =>
      only === undefined ? blocks.map((block) => withAddress(server, block)) : blocks,
    contents: (server, contents) =>
      contents.map((each) =>
        typeof each['uri'] === 'string'
          ? keepNumbers({ ...each, uri: addressOf(server, each['uri']) }, each)
          : each,
      ),
  };
}

/** The reference of a completion, with the server's own names. */
export function refOf(
  offers: Offers,
  ref: CompletionRequest['ref'],
): Meant & Pick<CompletionRequest, 'ref'> {
  if (ref.type === 'ref/prompt') {
    const meant = offers.promptNamed(ref.name);
    return { ...meant, ref: { type: 'ref/prompt', name: meant.name } };
  }
  const meant = offers.resourceAt(ref.uri);
  return { ...meant, ref: { type: 'ref/resource', uri: meant.name } };
}

/** A server's result, with URIs as clients see them. */
export function shownResult(offers: Offers, server: string, result: ToolResult): Item {
  return keepNumbers({ ...result, content: offers.blocks(server, result.content) }, result);
}

/** A tool as callers see it, without our additions. */
function toolItem(name: string, exposed: ExposedTool): Item {
  const { server: _server, tool: _tool, traits: _traits, ...shown } = exposed;
  const { appOnly: _appOnly, catalog: _catalog, ...tool } = shown;
  return wireForm(keepNumbers({ ...tool, name }, exposed));
}

/** The item as its server announced it, without our additions, except for `own`. */
function shownItem(
  listed: ExposedPrompt | ExposedResource | ExposedResourceTemplate,
  own: Item,
): Item {
  const { server: _server, catalog: _catalog, ...item } = listed;
  return wireForm(keepNumbers({ ...item, ...own }, listed));
}

/** Guesses the server of an unknown name, which may belong to a server that is still starting. */
function guess(
  kind: 'tool' | 'prompt',
  name: string,
  servers: readonly { readonly name: string }[],
  known: readonly string[],
): Meant {
  // The longest server name is the most likely one.
  const [server] = servers
    .map((each) => each.name)
    .filter((each) => name.startsWith(`${each}__`) && name.length > each.length + 2)
    .toSorted((a, b) => b.length - a.length);
  // Perhaps of a removed server; the runtime then reports that.
  const end = server?.length ?? name.indexOf('__');
  if (end > 0 && end < name.length - 2)
    return { server: name.slice(0, end), name: name.slice(end + 2) };
  throw unknownName(kind, name, known);
}

/** The error for an unknown name. */
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

/** Caches a value until its source is a different object. */
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

// Servers may use the same URI for different things, so clients see `troupe://db/note://all`. A template remains
// a template, because the prefix contains no braces.
const scheme = 'troupe://';

function addressFor(server: string, uri: string): string {
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** The server's own URI, from the one that clients see. */
function readAddress(address: string): Meant {
  const end = address.indexOf('/', scheme.length);
  const uri = address.slice(end + 1);
  try {
    if (address.startsWith(scheme) && end !== -1 && uri !== '')
      return { server: decodeURIComponent(address.slice(scheme.length, end)), name: uri };
  } catch {
    // No gateway made this URI.
  }
  throw new TroupeError(
    'SERVER_UNKNOWN',
    `No server has the resource ${printableLine(address, 128)}. URIs begin with troupe://SERVER/; see resources/list.`,
  );
}

/** A block of content with its URI, if it has one, as clients see it. */
function withAddress(server: string, block: Item): Item {
  const { type, uri, resource } = block;
  if (type === 'resource_link' && typeof uri === 'string')
    return keepNumbers({ ...block, uri: addressFor(server, uri) }, block);
  if (type !== 'resource' || !isRecord(resource) || typeof resource['uri'] !== 'string')
    return block;
  const shown = keepNumbers({ ...resource, uri: addressFor(server, resource['uri']) }, resource);
  return keepNumbers({ ...block, resource: shown }, block);
}

// The limit for tool names in every model API.
const maxNameLength = 64;
// Forty bits in base 36, as for the names that hosts see.
const hashLength = 8;
const keptLength = maxNameLength - hashLength - 1;

/**
 * Names items `{server}__{name}`. Names are unique, have at most 64 characters, and do not depend on other
 * items. A name that had to be changed or cut ends in a hash, as does the later one (by server, then name)
 * of two that would be equal.
 */
function exposedNames<Named extends Meant>(items: readonly Named[]): ReadonlyMap<string, Named> {
  const sorted = items.toSorted((a, b) => compare(a.server, b.server) || compare(a.name, b.name));
  const named = new Map<string, Named>();
  // Plain names first: a hashed name must never take another item's plain name.
  const unnamed = sorted.filter((item) => {
    const plain = `${item.server}__${item.name}`;
    if (!isFit(plain) || named.has(plain)) return true;
    named.set(plain, item);
    return false;
  });
  for (const item of unnamed) {
    let salt = 0;
    while (named.has(hashedName(item, salt))) salt += 1;
    named.set(hashedName(item, salt), item);
  }
  return new Map([...named].toSorted(([a], [b]) => compare(a, b)));
}

function isFit(name: string): boolean {
  return name.length <= maxNameLength && /^[\w-]+$/u.test(name);
}

function hashedName({ server, name }: Meant, salt: number): string {
  const salted = salt === 0 ? `${server}\0${name}` : `${server}\0${name}\0${salt}`;
  const bits = Number.parseInt(createHash('sha256').update(salted).digest('hex').slice(0, 10), 16);
  const hash = bits.toString(36).padStart(hashLength, '0');
  const readable = `${server}__${name}`.replaceAll(/[^\w-]/gu, '_');
  return `${readable.slice(0, keptLength)}_${hash}`;
}
