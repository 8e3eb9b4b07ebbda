/**
 * Checks a value against an untrusted JSON Schema, in bounded time.
 *
 * Patterns are not run and external references are not followed; a schema that depends on them is
 * undecidable, and only a certain mismatch rejects the value. Work is counted in steps, which also
 * bounds schemas that refer to themselves.
 */

import { isRecord } from '../../domain/data/is-record.ts';
import { equalData } from '../equal-data.ts';

/** Undefined = undecidable, or not within the steps. */
export type Verdict = boolean | undefined;

// A few milliseconds of work; a result of a thousand rows with ten fields takes a fifth of it.
const usualSteps = 100_000;
// Several times the depth of a schema, because references add to it.
const maxNesting = 128;

interface Walk {
  readonly root: unknown;
  stepsLeft: number;
  nesting: number;
}

type Fields = Readonly<Record<string, unknown>>;
type Keyword = (operand: unknown, value: unknown, walk: Walk, schema: Fields) => Verdict;

export function fitsSchema(schema: unknown, value: unknown, steps = usualSteps): Verdict {
  return check(schema, value, { root: schema, stepsLeft: steps, nesting: 0 });
}

// Characters that are scanned in the time of one step.
const perStep = 32;
// A lookup of a name takes as long as scanning this many characters.
const perName = 8;

/** Charges the cost of scanning. False = it exceeds the steps left. */
function canPass(walk: Walk, count: number): boolean {
  walk.stepsLeft -= Math.floor(count / perStep);
  return walk.stepsLeft >= 0;
}

/** Compares, if the schema's value can be scanned within the steps. */
function equals(walk: Walk, operand: unknown, value: unknown): Verdict {
  const stack = [operand];
  while (stack.length > 0) {
    const part = stack.pop();
    walk.stepsLeft -= 1;
    if (!canPass(walk, typeof part === 'string' ? part.length : 0)) return undefined;
    if (typeof part !== 'object' || part === null) continue;
    for (const inner of Object.values(part)) stack.push(inner);
  }
  return equalData(operand, value);
}

function check(schema: unknown, value: unknown, walk: Walk): Verdict {
  walk.stepsLeft -= 1;
  if (typeof schema === 'boolean') return schema;
  if (walk.stepsLeft < 0 || walk.nesting >= maxNesting || !isRecord(schema)) return undefined;
  // Another base URI: its references cannot be resolved here.
  if (Object.hasOwn(schema, '$id') && schema !== walk.root) return undefined;
  const words = Object.entries(schema);
  if (!canPass(walk, words.length * perName)) return undefined;
  walk.nesting += 1;
  const verdicts = words.map(([word, operand]) => {
    const keyword = keywords.get(word);
    if (keyword !== undefined) return keyword(operand, value, walk, schema);
    // Other keywords are annotations.
    return undecidable.has(word) ? undefined : true;
  });
  walk.nesting -= 1;
  // Keywords beside a reference count in some dialects and not in others.
  const at = Object.keys(schema).indexOf('$ref');
  return at === -1
    ? all(verdicts)
    : all([verdicts[at], all(verdicts.toSpliced(at, 1)) === true ? true : undefined]);
}

function all(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false;
  return verdicts.includes(undefined) ? undefined : true;
}

function not(verdict: Verdict): Verdict {
  return verdict === undefined ? undefined : !verdict;
}

/** A keyword for one type accepts values of all other types. */
const about =
  <Value>(
    isOne: (value: unknown) => value is Value,
    judge: (operand: unknown, value: Value, walk: Walk, schema: Fields) => Verdict,
  ): Keyword =>
  (operand, value, walk, schema) =>
    isOne(value) ? judge(operand, value, walk, schema) : true;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A number of the schema compared with one of the value. */
const bound = <Value>(
  isOne: (value: unknown) => value is Value,
  measure: (value: Value, walk: Walk) => number | undefined,
  fits: (measured: number, limit: number) => boolean,
): Keyword =>
  about(isOne, (operand, value, walk) => {
    const measured = measure(value, walk);
    return isNumber(operand) && measured !== undefined ? fits(measured, operand) : undefined;
  });

const own = (value: number) => value;
const atLeast = (measured: number, limit: number) => measured >= limit;
const atMost = (measured: number, limit: number) => measured <= limit;
// A character is a code point here.
const lengthOf = (text: string, walk: Walk) => {
  if (!canPass(walk, text.length)) return undefined;
  let count = 0;
  for (const _character of text) count += 1;
  return count;
};
const countOf = (fields: Fields, walk: Walk) => {
  const count = Object.keys(fields).length;
  return canPass(walk, count * perName) ? count : undefined;
};

const types = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', (value) => typeof value === 'boolean'],
  ['number', isNumber],
  ['integer', Number.isInteger],
  ['string', isText],
  ['array', isList],
  ['object', isRecord],
]);

const each =
  (join: (verdicts: readonly Verdict[]) => Verdict): Keyword =>
  (operand, value, walk) =>
    isList(operand) ? join(operand.map((schema) => check(schema, value, walk))) : undefined;

const keywords: ReadonlyMap<string, Keyword> = new Map(
  Object.entries<Keyword>({
    type: (operand, value, walk) => {
      const names = isList(operand) ? operand : [operand];
      if (!canPass(walk, names.length * perName)) return undefined;
      const fits = names.map((name) => types.get(name)?.(value));
      return not(all(fits.map(not)));
    },
    enum: (operand, value, walk) => {
      if (!isList(operand)) return undefined;
      return not(all(operand.map((one) => not(equals(walk, one, value)))));
    },
    const: (operand, value, walk) => equals(walk, operand, value),
    minimum: bound(isNumber, own, atLeast),
    maximum: bound(isNumber, own, atMost),
    exclusiveMinimum: bound(isNumber, own, (measured, limit) => measured > limit),
    exclusiveMaximum: bound(isNumber, own, (measured, limit) => measured < limit),
    minLength: bound(isText, lengthOf, atLeast),
    maxLength: bound(isText, lengthOf, atMost),
    minItems: bound(isList, (list) => list.length, atLeast),
    maxItems: bound(isList, (list) => list.length, atMost),
    minProperties: bound(isRecord, countOf, atLeast),
    maxProperties: bound(isRecord, countOf, atMost),
    required: about(isRecord, (operand, value, walk) =>
      isList(operand) && canPass(walk, operand.length * perName)
        ? operand.every((name) => Object.hasOwn(value, String(name)))
        : undefined,
    ),
    properties: about(isRecord, (operand, value, walk) => {
      if (!isRecord(operand)) return undefined;
      const listed = Object.entries(operand);
      if (!canPass(walk, listed.length * perName)) return undefined;
      const named = listed.filter(([name]) => Object.hasOwn(value, name));
      return all(named.map(([name, schema]) => check(schema, value[name], walk)));
    }),
    additionalProperties: about(isRecord, (operand, value, walk, schema) => {
      if (Object.hasOwn(schema, 'patternProperties')) return undefined;
      const listed = isRecord(schema['properties']) ? schema['properties'] : {};
      const fields = Object.entries(value);
      if (!canPass(walk, fields.length * perName)) return undefined;
      const others = fields.filter(([name]) => !Object.hasOwn(listed, name));
      return all(others.map(([, one]) => check(operand, one, walk)));
    }),
    prefixItems: about(isList, (operand, value, walk) =>
      isList(operand)
        ? all(operand.slice(0, value.length).map((schema, at) => check(schema, value[at], walk)))
        : undefined,
    ),
    items: about(isList, (operand, value, walk, schema) => {
      // A list is the older form of `prefixItems`.
      if (isList(operand)) return undefined;
      const prefix = isList(schema['prefixItems']) ? schema['prefixItems'].length : 0;
      // Items beyond the remaining steps are not checked.
      const looked = value.slice(prefix, prefix + Math.max(0, walk.stepsLeft) + 1);
      return all(looked.map((one) => check(operand, one, walk)));
    }),
    allOf: each(all),
    anyOf: each((verdicts) => not(all(verdicts.map(not)))),
    oneOf: each((verdicts) => {
      const fitting = verdicts.filter((verdict) => verdict === true).length;
      if (fitting > 1) return false;
      return verdicts.includes(undefined) ? undefined : fitting === 1;
    }),
    not: (operand, value, walk) => not(check(operand, value, walk)),
    $ref: (operand, value, walk) => {
      const isPassed = isText(operand) && canPass(walk, operand.length);
      const target = isPassed ? within(walk.root, operand) : undefined;
      return check(target, value, walk);
    },
  }),
);

// Keywords that depend on patterns, formats, other dialects or each other.
const undecidable: ReadonlySet<string> = new Set([
  '$dynamicRef',
  '$recursiveRef',
  'additionalItems',
  'contains',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'else',
  'format',
  'if',
  'multipleOf',
  'pattern',
  'patternProperties',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
  'uniqueItems',
]);

/** Resolves a reference within the schema; undefined for any other. */
function within(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let at = root;
  for (const step of reference.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const fields = typeof at === 'object' && at !== null ? at : {};
    at = Object.hasOwn(fields, name) ? (fields as Fields)[name] : undefined;
  }
  return at;
}
