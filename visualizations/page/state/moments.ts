/** Navigation to a moment, and back to now. */

import type { InspectionPicture } from '../../../src/domain/host/inspection.ts';
import { hashOf, type Route, routeOf } from '../model/route.ts';
import { worldOf } from '../model/world.ts';
import { ask, messageOf } from './api.ts';
import { change, current, toast } from './store.ts';

/** Shows the world after record `at`, or the live one. */
export function showMoment(at: number | undefined): void {
  const { history, live, revision, session } = current();
  if (at === undefined) {
    change({ world: live, revision: revision + 1 });
    return;
  }
  if (at >= history.first || at < (session?.first ?? 0)) {
    change({ world: history.at(at), revision: revision + 1 });
    return;
  }
  void askMoment(at);
}

/** Requests a moment that the page does not hold yet. */
async function askMoment(at: number): Promise<void> {
  try {
    const picture = await ask<InspectionPicture>(`api/picture?at=${at}`);
    const { route, revision } = current();
    if (route.at === at) change({ world: worldOf(picture), revision: revision + 1 });
  } catch (error) {
    toast('bad', messageOf(error));
    go({ at: undefined });
  }
}

type RouteChange = { readonly [Key in keyof Route]?: Route[Key] | undefined };

/** Navigates; parts that are not named stay. */
export function go(part: RouteChange, options: { readonly keep?: boolean } = {}): void {
  const { view, server, actor, at } = { ...current().route, ...part };
  const route: Route = {
    view: view ?? 'fleet',
    ...(server === undefined ? {} : { server }),
    ...(actor === undefined ? {} : { actor }),
    ...(at === undefined ? {} : { at }),
  };
  const hash = hashOf(route);
  // Dragging the slider adds no history entries.
  if (options.keep === true || 'at' in part) history.replaceState(null, '', hash);
  else history.pushState(null, '', hash);
  apply(route);
}

export function followAddress(): void {
  const read = (): void => apply(routeOf(location.hash));
  window.addEventListener('popstate', read);
  window.addEventListener('hashchange', read);
  read();
}

function apply(route: Route): void {
  const before = current().route;
  change({ route });
  if (before.at !== route.at) showMoment(route.at);
}
