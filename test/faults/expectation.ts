/** What a row saw, and what it should have seen. */

/** What a row saw. `state`, `reason`, `code` and `outcome` are the public words; the rest are facts of its own. */
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
