/** The answer to a server's form, from what the user typed. */

import { isJsonNumber, numberTextAt, setNumberText } from '../../../src/domain/data/exact-json.ts';
import type { FormField, FormValue, NamedField } from '../../../src/domain/question.ts';
import { faultOf } from '../../../src/policies/calls/form-answer.ts';
import type { FormProblem } from './schema-form.ts';

/** What the user typed into a field; a list for a field with several choices. */
export type Typed = string | readonly string[];

export function initialOf(field: FormField): Typed {
  const { default: initial, type } = field;
  if (type === 'choices') return Array.isArray(initial) ? initial : [];
  return initial === undefined ? '' : (numberTextAt(field, 'default') ?? String(initial));
}

/** Converts what was typed to the form's content. An empty field is left out. */
export function contentOf(
  fields: readonly NamedField[],
  typed: Readonly<Record<string, Typed>>,
):
  | { readonly content: Readonly<Record<string, FormValue>> }
  | { readonly problems: readonly FormProblem[] } {
  const content: [string, FormValue][] = [];
  const problems: FormProblem[] = [];
  for (const { name, isRequired, field } of fields) {
    const text = typed[name] ?? initialOf(field);
    const value = valueOf(field, text);
    const message =
      value === undefined
        ? isRequired
          ? 'is required'
          : undefined
        : faultOf(field, value, String(text));
    if (message !== undefined) problems.push({ field: name, message });
    else if (value !== undefined) content.push([name, value]);
  }
  const whole = Object.fromEntries(content);
  for (const { name, field } of fields)
    setNumberText(whole, name, String(typed[name] ?? initialOf(field)).trim());
  return problems.length > 0 ? { problems } : { content: whole };
}

function valueOf(field: FormField, typed: Typed): FormValue | undefined {
  if (typeof typed !== 'string')
    // Nothing chosen is an answer only instead of a preset choice.
    return typed.length === 0 && field.default === undefined ? undefined : typed;
  if (typed.trim() === '') return undefined;
  switch (field.type) {
    case 'number':
    case 'integer':
      return isJsonNumber(typed.trim()) ? Number(typed) : Number.NaN;
    case 'boolean':
      return typed === 'true';
    case 'string':
    case 'choice':
    case 'choices':
      return typed;
  }
}

/** The bounds of a field, for the user. */
export function boundsOf(field: FormField): string | undefined {
  const { least, most, unit } = limitsOf(field);
  if (least !== undefined && most !== undefined) return `from ${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? undefined : `at most ${most}${unit}`;
}

interface Limits {
  readonly least?: number | undefined;
  readonly most?: number | undefined;
  readonly unit: string;
}

function limitsOf(field: FormField): Limits {
  switch (field.type) {
    case 'number':
    case 'integer':
      return { least: field.minimum, most: field.maximum, unit: '' };
    case 'string':
      return { least: field.minLength, most: field.maxLength, unit: ' characters' };
    case 'choices':
      return { least: field.minItems, most: field.maxItems, unit: ' choices' };
    case 'boolean':
    case 'choice':
      return { unit: '' };
  }
}
