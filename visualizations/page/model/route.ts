/** What the page shows, as the URL fragment, so that a link to a moment can be saved. */

export const views = ['fleet', 'chart', 'sequence'] as const;
export type View = (typeof views)[number];

export interface Route {
  readonly view: View;
  /** Name of the chosen server. */
  readonly server?: string;
  /** Key of the chosen actor, unless it is the server's own. */
  readonly actor?: string;
  /** The record of the chosen moment; absent = now. */
  readonly at?: number;
}

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/u, '').split('?');
  const view = views.find((each) => each === path) ?? 'fleet';
  const params = new URLSearchParams(query);
  const server = params.get('server');
  const actor = params.get('actor');
  const at = Number(params.get('at') ?? Number.NaN);
  return {
    view,
    ...(server === null ? {} : { server }),
    ...(actor === null ? {} : { actor }),
    ...(Number.isSafeInteger(at) && at >= 0 ? { at } : {}),
  };
}

export function hashOf({ view, server, actor, at }: Route): string {
  const params = new URLSearchParams();
  if (server !== undefined) params.set('server', server);
  if (actor !== undefined) params.set('actor', actor);
  if (at !== undefined) params.set('at', String(at));
  const query = params.toString();
  return query === '' ? `#/${view}` : `#/${view}?${query}`;
}
