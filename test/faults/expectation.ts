/** Compares what a row saw with what it expects. */

/** Facts that a row saw. `state`, `reason`, `code` and `outcome` are public words; the rest belong to the row. */
export type Seen = Readonly<Record<string, Fact>>;
export type Fact = string | number | boolean | undefined;

/** A value that must be equal, a text that must match, alternatives, or a bound. */
export type Matcher =
  | string
  | number
  | boolean
  | RegExp
  | readonly (string | number | undefined)[]
  | { readonly atMost: number }
  | { readonly atLeast: number };

export type Expectation = Readonly<Record<string, Matcher>>;

/** Describes every difference in one sentence. */
export function differences(expected: Expectation, seen: Seen): readonly string[] {
  return Object.entries(expected)
    .filter(([fact, matcher]) => !matches(matcher, seen[fact]))
    .map(([fact, matcher]) => `${fact} is ${inWords(seen[fact])}, not ${wanted(matcher)}`);
}

function matches(matcher: Matcher, fact: Fact): boolean {
  if (typeof matcher !== 'object') return matcher === fact;
  if (matcher instanceof RegExp) return typeof fact === 'string' && matcher.test(fact);
  if ('atMost' in matcher) return typeof fact === 'number' && fact <= matcher.atMost;
  if ('atLeast' in matcher) return typeof fact === 'number' && fact >= matcher.atLeast;
  return matcher.some((candidate) => candidate === fact);
}

function wanted(matcher: Matcher): string {
  if (typeof matcher !== 'object') return inWords(matcher);
  if (matcher instanceof RegExp) return `like ${String(matcher)}`;
  if ('atMost' in matcher) return `at most ${matcher.atMost}`;
  if ('atLeast' in matcher) return `at least ${matcher.atLeast}`;
  return matcher.map(inWords).join(' or ');
}

function inWords(fact: Fact): string {
  return fact === undefined ? 'absent' : JSON.stringify(fact);
}
