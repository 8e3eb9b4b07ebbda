/** Decides which views a client may use, by the claims of its access token. */

import type { ClientRule, ViewSettings } from '../../domain/settings.ts';

/** What rules compare. */
export interface ClientClaims {
  readonly user?: string | undefined;
  readonly groups: readonly string[];
  readonly scopes: readonly string[];
}

/**
 * Returns the names of the views that a client may use, in the order of the settings; undefined if no view has
 * rules, so that a client may use all of them and need not use any.
 */
export function viewsOf(
  views: readonly Pick<ViewSettings, 'name' | 'clients'>[],
  claims: ClientClaims,
): readonly string[] | undefined {
  if (views.every(({ clients }) => clients === undefined)) return undefined;
  return views
    .filter(({ clients = [] }) => clients.some((rule) => isMetBy(rule, claims)))
    .map(({ name }) => name);
}

/** A rule without parts, which settings cannot have, would be met by every client. */
function isMetBy({ user, group, scope }: ClientRule, claims: ClientClaims): boolean {
  if (user === undefined && group === undefined && scope === undefined) return false;
  return (
    (user === undefined || user === claims.user) &&
    (group === undefined || claims.groups.includes(group)) &&
    (scope === undefined || claims.scopes.includes(scope))
  );
}
