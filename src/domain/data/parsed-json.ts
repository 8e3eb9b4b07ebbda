import { parseJson } from './exact-json.ts';

/** Parses a JSON text; undefined for any other. */
export function parsedJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
