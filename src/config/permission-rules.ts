/** The lists of all layers that say which calls may go out. */

import type { PermissionRules } from '../domain/permission.ts';
import type { PlacedRules, Settings } from '../domain/settings.ts';
import type { Layers } from './layers.ts';
import { placeOfList } from './limits.ts';
import type { ParsedDocument } from './parse-settings.ts';

/** What all layers say. A layer that only narrows can ask and deny; what it allows is not heard. */
export function permissionsOf({ own, narrowing }: Layers): Pick<Settings, 'permissions'> {
  const ofOwn = joined(own, ['allow', 'ask', 'deny']);
  const ofOthers = joined(narrowing, ['ask', 'deny']);
  const isEmpty = Object.keys(ofOwn).length === 0 && Object.keys(ofOthers).length === 0;
  if (isEmpty) return {};
  const places = [...own.flatMap(placesIn), ...narrowing.flatMap(placesIn)];
  return { permissions: { own: ofOwn, narrowing: ofOthers, places } };
}

function joined(
  documents: readonly ParsedDocument[],
  verdicts: readonly (keyof PermissionRules)[],
): PermissionRules {
  const lists = verdicts.flatMap((verdict) => {
    const patterns = documents.flatMap(({ mcp }) => mcp.permissions?.[verdict] ?? []);
    return patterns.length === 0 ? [] : [[verdict, patterns] as const];
  });
  return Object.fromEntries(lists);
}

/** Those that keep calls back: nobody asks which list let one go. */
function placesIn(document: ParsedDocument): readonly PlacedRules[] {
  return (['deny', 'ask'] as const).flatMap((verdict) => {
    const patterns = document.mcp.permissions?.[verdict];
    if (patterns === undefined) return [];
    const source = placeOfList(document, `permissions.${verdict}`);
    return [{ rules: { [verdict]: patterns }, source }];
  });
}
