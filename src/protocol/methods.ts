/**
 * The messages of MCP that we send, take or pass on, with what the specification says of each. It is
 * the only place that spells their names. Those of tasks are left out: we ask for none.
 *
 * 1. A message exists in some eras only: `eras`.
 * 2. A request needs a capability of the side that it is sent to: `capability`.
 * 3. What our client sends by itself must be `repeatable`, because it sends it again after a loss; the
 *    type of {@link OwnRequest} holds it to that. The policy decides about calls.
 * 4. Over HTTP, a modern request names its target in a header: `target` is the parameter.
 *
 * The parameters of requests that we send are in {@link ParamsOf}; `results.ts` reads the results.
 */

import type { LogLevel } from '../domain/log-level.ts';

/** `legacy`: the revisions up to 2025-11-25, with a handshake. `modern`: since 2026-07-28, without. */
export type Era = 'legacy' | 'modern';

export interface Method {
  readonly name: string;
  readonly kind: 'request' | 'notification';
  /** Which side sends it. */
  readonly from: 'client' | 'server' | 'both';
  /** Modern servers ask their questions inside results, so their era has no messages for them. */
  readonly eras: readonly Era[];
  /** The capability that the receiving side must have declared; absent if it needs none. */
  readonly capability?: string;
  /** Whether sending it again has no further effect. */
  readonly repeatable?: true;
  /** The parameter with the name or address that the request is about. */
  readonly target?: 'name' | 'uri';
  /** The field of a page with the items of a list. */
  readonly items?: string;
  /** Whether a modern server may answer with questions first. */
  readonly mayAsk?: true;
}

const both = ['legacy', 'modern'] as const;
const legacy = ['legacy'] as const;
const modern = ['modern'] as const;

function request<const Name extends string, const Facts extends Omit<Method, 'name' | 'kind'>>(
  name: Name,
  facts: Facts,
) {
  return { name, kind: 'request', ...facts } as const;
}

function notification<const Name extends string>(
  name: Name,
  from: Method['from'],
  eras: readonly Era[] = both,
) {
  return { name, kind: 'notification', from, eras } as const;
}

export const methods = {
  // The beginning of a session, and its life.
  initialize: request('initialize', { from: 'client', eras: legacy }),
  initialized: notification('notifications/initialized', 'client', legacy),
  discover: request('server/discover', { from: 'client', eras: modern, repeatable: true }),
  ping: request('ping', { from: 'both', eras: legacy, repeatable: true }),

  // What callers ask for.
  callTool: request('tools/call', {
    from: 'client',
    eras: both,
    capability: 'tools',
    target: 'name',
    mayAsk: true,
  }),
  readResource: request('resources/read', {
    from: 'client',
    eras: both,
    capability: 'resources',
    repeatable: true,
    target: 'uri',
    mayAsk: true,
  }),
  getPrompt: request('prompts/get', {
    from: 'client',
    eras: both,
    capability: 'prompts',
    repeatable: true,
    target: 'name',
    mayAsk: true,
  }),
  complete: request('completion/complete', {
    from: 'client',
    eras: both,
    capability: 'completions',
    repeatable: true,
  }),

  // Lists.
  listTools: list('tools/list', 'tools', 'tools'),
  listResources: list('resources/list', 'resources', 'resources'),
  listTemplates: list('resources/templates/list', 'resources', 'resourceTemplates'),
  listPrompts: list('prompts/list', 'prompts', 'prompts'),

  // What a client wants to hear of, and hears.
  subscribe: watching('resources/subscribe', 'resources.subscribe'),
  unsubscribe: watching('resources/unsubscribe', 'resources.subscribe'),
  setLogLevel: watching('logging/setLevel', 'logging'),
  listen: request('subscriptions/listen', { from: 'client', eras: modern, repeatable: true }),
  listening: notification('notifications/subscriptions/acknowledged', 'server', modern),
  toolsChanged: notification('notifications/tools/list_changed', 'server'),
  resourcesChanged: notification('notifications/resources/list_changed', 'server'),
  promptsChanged: notification('notifications/prompts/list_changed', 'server'),
  resourceUpdated: notification('notifications/resources/updated', 'server'),
  logMessage: notification('notifications/message', 'server'),
  progress: notification('notifications/progress', 'both'),
  cancelled: notification('notifications/cancelled', 'both'),

  // What a server asks the client.
  elicit: question('elicitation/create', 'elicitation'),
  elicited: notification('notifications/elicitation/complete', 'server', legacy),
  sample: question('sampling/createMessage', 'sampling'),
  listRoots: question('roots/list', 'roots'),
  rootsChanged: notification('notifications/roots/list_changed', 'client', legacy),
} as const satisfies Readonly<Record<string, Method>>;

function list<const Name extends string, const Items extends string>(
  name: Name,
  capability: string,
  items: Items,
) {
  return request(name, { from: 'client', eras: both, capability, repeatable: true, items });
}

function watching<const Name extends string>(name: Name, capability: string) {
  return request(name, { from: 'client', eras: legacy, capability, repeatable: true });
}

function question<const Name extends string>(name: Name, capability: string) {
  return request(name, { from: 'server', eras: legacy, capability });
}

/** The parameters of the requests that our client sends by itself. */
export interface ParamsOf {
  readonly discover: object;
  readonly ping: object;
  readonly listTools: Page;
  readonly listResources: Page;
  readonly listTemplates: Page;
  readonly listPrompts: Page;
  readonly subscribe: { readonly uri: string };
  readonly unsubscribe: { readonly uri: string };
  readonly setLogLevel: { readonly level: LogLevel };
}

type Page = {
  /** Absent on the first page. */
  readonly cursor?: string;
};

/** A request that our client sends by itself. */
export type OwnRequest = {
  [Key in keyof ParamsOf]: (typeof methods)[Key] extends { readonly repeatable: true }
    ? Key
    : never;
}[keyof ParamsOf];

/** The requests that callers of ours make. */
export type CallKind = 'callTool' | 'readResource' | 'getPrompt' | 'complete';

const named: ReadonlyMap<string, Method> = new Map(
  Object.values(methods).map((method) => [method.name, method]),
);

/** Returns the method of this name; undefined for an unknown name. */
export function methodNamed(name: string): Method | undefined {
  return named.get(name);
}

/** Returns whether an era has a message. */
export function existsIn({ eras }: Method, era: Era): boolean {
  return eras.includes(era);
}
