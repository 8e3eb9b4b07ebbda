/** What of the settings counts from the start of a troupe to its end, whatever is written meanwhile. */

import type { ServerPolicy } from '../domain/policy.ts';
import type { Problem } from '../domain/settings.ts';
import type { ParsedDocument } from './parse-settings.ts';

/** Such a setting, with the key that decides it; without one, what a troupe has anyway. */
export interface StartValue {
  /** The key that wins over all others. */
  readonly name: string;
  readonly value: number;
  readonly place?: Required<Pick<Problem, 'file' | 'key'>> & Pick<Problem, 'line'>;
}

/** @param own - the documents whose numbers count, lowest precedence first */
export function startValuesOf(
  { startup }: ServerPolicy,
  own: readonly ParsedDocument[],
): readonly [StartValue] {
  const name = 'mcp.startupGateMs';
  const direct = own.findLast(({ mcp }) => mcp.startupGateMs !== undefined);
  if (direct?.mcp.startupGateMs !== undefined)
    return [{ name, value: direct.mcp.startupGateMs, place: placeIn(direct, 'startupGateMs') }];
  const chosen = own.findLast(
    ({ mcp: { policy } }) =>
      policy?.preset !== undefined || policy?.overrides.startup?.gateMs !== undefined,
  );
  if (chosen === undefined) return [{ name, value: startup.gateMs }];
  const isField = chosen.mcp.policy?.overrides.startup?.gateMs !== undefined;
  const place = placeIn(chosen, isField ? 'policy.startup.gateMs' : 'policy');
  return [{ name, value: startup.gateMs, place }];
}

function placeIn({ file, scope, lines }: ParsedDocument, key: string): StartValue['place'] & {} {
  const line = scope === 'api' ? undefined : lines?.get(key);
  return { file, ...(line === undefined ? {} : { line }), key: `mcp.${key}` };
}

/** What to say to whoever has edited such a setting; nothing once it is again as it was at the start. */
export function changedSinceStart(
  atStart: readonly StartValue[],
  now: readonly StartValue[],
): readonly Problem[] {
  return atStart.flatMap(({ name, value, place }) => {
    const present = now.find((it) => it.name === name);
    if (present === undefined || present.value === value) return [];
    // Whoever took the key away finds the file in which it was.
    const { file, key, line } = present.place ?? {
      file: 'settings',
      key: name,
      ...place,
      line: undefined,
    };
    const message = `this counts from the start of a troupe, so the running one keeps ${value}; restart the troupe, or write ${value} again`;
    return [{ file, ...(line === undefined ? {} : { line }), key, message }];
  });
}
