/** Reads what a server asks for by `WWW-Authenticate` (RFC 9110, section 11.6.1). */

export interface Challenge {
  /** In lower case, for example `bearer`. */
  readonly scheme: string;
  /** Names in lower case; of a name that is given twice the first counts. */
  readonly parameters: ReadonlyMap<string, string>;
}

// A header of Node ends at 16 KB; no honest server needs half of it to say how to sign in.
const maxCharacters = 8_192;
const maxChallenges = 8;

// One parameter, or a scheme with what may follow it; then what separates it from the next.
const parameter = /([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",=]+))\s*(?:,|$)/uy;
const scheme =
  /([\w!#$%&'*+.^`|~-]+)(?:\s+(?![\w!#$%&'*+.^`|~-]+\s*=\s*[^\s=,])[\w+./~-]+=*)?\s*(?:,|(?=\s)|$)/uy;

/** What cannot be read ends the list: what came before it still counts. */
export function challengesOf(header: string | null): readonly Challenge[] {
  const text = header?.slice(0, maxCharacters) ?? '';
  const challenges: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  while (at < text.length) {
    at = skip(text, at);
    const pair = matchAt(parameter, text, at);
    const current = challenges.at(-1);
    const found = pair !== undefined && current !== undefined ? pair : matchAt(scheme, text, at);
    if (found === undefined) break;
    at += found[0].length;
    const name = (found[1] ?? '').toLowerCase();
    if (found === pair && current !== undefined) {
      const value = found[2]?.replaceAll(/\\(.)/gu, '$1') ?? found[3] ?? '';
      if (!current.parameters.has(name)) current.parameters.set(name, value);
    } else {
      if (challenges.length === maxChallenges) break;
      challenges.push({ scheme: name, parameters: new Map() });
    }
  }
  return challenges;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

/** Lists may hold empty places. */
function skip(text: string, from: number): number {
  let at = from;
  while (at < text.length && /[\s,]/u.test(text[at] ?? '')) at += 1;
  return at;
}
