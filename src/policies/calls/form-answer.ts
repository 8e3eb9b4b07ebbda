/** Validates the values of a server's form before they are sent, and adds defaults. */

import { numberTextAt, setNumberText } from '../../domain/data/exact-json.ts';
import type {
  ChoicesField,
  FormField,
  FormValue,
  NamedField,
  TextField,
} from '../../domain/question.ts';

// No legitimate answer is longer; this bound applies whatever the server allows.
const maxTextLength = 65_536;

/**
 * Checks the values of a form and adds the defaults of missing fields. A value that does not
 * match its field, a missing required field and an unknown field are faults; a fault never
 * contains the value.
 */
export function checkForm(
  fields: readonly NamedField[],
  given: Readonly<Record<string, unknown>>,
): { readonly content: Readonly<Record<string, FormValue>> } | { readonly fault: string } {
  const left = new Map(Object.entries(given));
  const content: [string, FormValue][] = [];
  const texts: [string, string][] = [];
  for (const { name, isRequired, field } of fields) {
    const value = left.get(name) ?? field.default;
    left.delete(name);
    if (value === undefined) {
      if (isRequired) return { fault: `"${name}" is missing` };
      continue;
    }
    const isGiven = Object.hasOwn(given, name);
    const text = isGiven ? numberTextAt(given, name) : numberTextAt(field, 'default');
    const fault = faultOf(field, value, text);
    if (fault !== undefined) return { fault: `"${name}" ${fault}` };
    content.push([name, value as FormValue]);
    const digits = field.type === 'integer' ? wholeDigits(text) : text;
    if (digits !== undefined) texts.push([name, digits]);
  }
  const [unknown] = left.keys();
  if (unknown !== undefined) return { fault: `there is no field "${unknown}"` };
  const whole = Object.fromEntries(content);
  for (const [name, text] of texts) setNumberText(whole, name, text);
  return { content: whole };
}

/** A whole number that JavaScript rounds may be another one, unless its digits are kept. */
function isWhole(value: number, text: string | undefined): boolean {
  return text === undefined ? Number.isSafeInteger(value) : wholeDigits(text) !== undefined;
}

/**
 * Writes a finite number of JSON, such as `1e3` or `2.0`, as a whole number, because many servers read only
 * digits as one. Undefined if it is not whole.
 */
function wholeDigits(text = ''): string | undefined {
  const [, sign = '', whole = '', fraction = '', power = ''] =
    /^\s*(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?\s*$/iu.exec(text) ?? [];
  const digits = whole + fraction;
  if (/^0+$/u.test(digits)) return '0';
  const shift = Number(power) - fraction.length;
  const kept = shift < 0 ? digits.slice(0, shift) : digits.padEnd(digits.length + shift, '0');
  if (digits === '' || /[1-9]/u.test(digits.slice(kept.length))) return undefined;
  return sign + kept.replace(/^0+/u, '');
}

/**
 * Describes the expected value; undefined = the value is valid.
 *
 * @param digits - the digits with which a number is sent, if they are kept
 */
export function faultOf(field: FormField, value: unknown, digits?: string): string | undefined {
  switch (field.type) {
    case 'string':
      return textFault(field, value);
    case 'number':
    case 'integer': {
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
      if (field.type === 'integer' && !isWhole(value, digits)) return 'must be a whole number';
      return boundsFault(value, field.minimum, field.maximum, '');
    }
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'choice': {
      const isOne = field.choices.some((choice) => choice.value === value);
      return isOne ? undefined : 'must be one of the choices';
    }
    case 'choices':
      return choicesFault(field, value);
  }
}

function textFault(field: TextField, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  const { minLength, maxLength = maxTextLength, format } = field;
  // The limits count code points.
  const fault = boundsFault(Array.from(value).length, minLength, maxLength, ' characters');
  if (fault !== undefined || format === undefined) return fault;
  const [isOfFormat, words] = formats[format];
  return isOfFormat(value) ? undefined : `must be ${words}`;
}

function choicesFault({ choices, ...field }: ChoicesField, value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be a list of choices';
  const known = new Set(choices.map((choice) => choice.value));
  if (!value.every((each) => known.has(each as string))) return 'must hold nothing but the choices';
  if (new Set(value).size < value.length) return 'must hold each choice once';
  return boundsFault(value.length, field.minItems, field.maxItems, ' of the choices');
}

function boundsFault(
  size: number,
  least = Number.NEGATIVE_INFINITY,
  most = Number.POSITIVE_INFINITY,
  unit: string,
): string | undefined {
  if (size < least) return `must be at least ${least}${unit}`;
  return size > most ? `must be at most ${most}${unit}` : undefined;
}

const formats: Readonly<
  Record<NonNullable<TextField['format']>, readonly [(text: string) => boolean, words: string]>
> = {
  email: [(text) => /^[^\s@]{1,64}@[^\s@]{1,255}$/u.test(text), 'an email address'],
  uri: [(text) => URL.canParse(text), 'an address as https://example.com'],
  date: [isDate, 'a date as 2026-07-28'],
  'date-time': [
    (text) => {
      const [, date = '', hours, minutes, seconds] =
        /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/iu.exec(text) ??
        [];
      // A leap second is the sixtieth.
      return isDate(date) && Number(hours) < 24 && Number(minutes) < 60 && Number(seconds) <= 60;
    },
    'a date and time as 2026-07-28T12:00:00Z',
  ],
};

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/u.exec(text) ?? [];
  return Number(day) >= 1 && Number(day) <= daysOf(Number(year), Number(month));
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  if (month < 1 || month > 12) return 0;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
