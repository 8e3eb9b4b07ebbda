/** The table of MCP's methods. */

import { type Method, methods } from '../../src/protocol/methods.ts';
import { code, table } from './markdown.ts';

export function protocolTable(): string {
  return table(
    ['method', 'sent by', 'era', 'needs', 'a repeat is safe'],
    Object.values<Method>(methods).map(({ name, kind, from, eras, capability, repeatable }) => [
      code(name),
      from === 'both' ? 'both sides' : from,
      eras.length === 2 ? 'both' : eras.join(),
      capability === undefined ? '' : code(capability),
      kind === 'notification' ? '-' : repeatable === true ? 'yes' : 'no',
    ]),
  );
}
