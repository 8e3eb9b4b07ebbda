/**
 * Reads the form of an elicitation: only MCP's restricted, flat schema. The result is checked,
 * bounded and printable, so that it can be shown as it is. A form with any other content is refused.
 */

import type {
  FormChoice,
  FormField,
  NamedField,
  QuestionBody,
} from '../../../src/domain/question.ts';
import { faultOf } from '../../../src/policies/calls/form-answer.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import { printableLine, printableText } from '../../../src/policies/text/printable.ts';

// The user fills it in: no honest form is longer.
const maxFields = 64;
const maxChoices = 256;
const nameCharacters = 128;
// As in the description of a tool.
const descriptionCharacters = 2_048;

type Form = Pick<Extract<QuestionBody, { kind: 'form' }>, 'fields' | 'schema'>;

/** Returns the form, or in a few words why it cannot be shown. */
export function readForm(schema: unknown): Form | string {
  if (!isRecord(schema) || schema['type'] !== 'object' || !isRecord(schema['properties']))
    return 'requestedSchema is not an object with properties';
  const required = schema['required'] ?? [];
  if (!Array.isArray(required)) return '"required" is not a list';
  const names = Object.keys(schema['properties']);
  if (names.length > maxFields) return `there are more than ${maxFields} fields`;
  const absent = required.find((name) => !names.includes(name as string));
  if (absent !== undefined) return 'a required field is not described';
  const fields: NamedField[] = [];
  for (const [name, property] of Object.entries(schema['properties'])) {
    if (!isPlain(name)) return 'a field has a name that cannot be printed';
    const field = readField(property);
    if (typeof field === 'string') return `the field "${name}" ${field}`;
    fields.push({ name, isRequired: required.includes(name), field });
  }
  return { fields, schema: schemaOf(fields, schema['properties']) };
}

function readField(property: unknown): FormField | string {
  if (!isRecord(property)) return 'is not an object';
  const bare = bareField(property);
  if (typeof bare === 'string') return bare;
  const { title, description, default: preset } = property;
  const field = {
    ...bare,
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof description === 'string' && {
      description: printableText(description, descriptionCharacters),
    }),
  } as FormField;
  // Accepting the form unchanged sends the defaults back.
  const isFit = preset !== undefined && preset !== null && faultOf(field, preset) === undefined;
  return isFit ? ({ ...field, default: preset } as FormField) : field;
}

function bareField(property: Record<string, unknown>): FormField | string {
  switch (property['type']) {
    case 'string':
      return property['enum'] === undefined && property['oneOf'] === undefined
        ? textField(property)
        : choiceField(property);
    case 'number':
    case 'integer':
      return {
        type: property['type'],
        ...numberAt(property, 'minimum'),
        ...numberAt(property, 'maximum'),
      };
    case 'boolean':
      return { type: 'boolean' };
    case 'array':
      return choicesField(property);
    default:
      return 'has a type that a form cannot have';
  }
}

function textField(property: Record<string, unknown>): FormField {
  const { format } = property;
  const isKnown =
    format === 'email' || format === 'uri' || format === 'date' || format === 'date-time';
  return {
    type: 'string',
    ...numberAt(property, 'minLength'),
    ...numberAt(property, 'maxLength'),
    ...(isKnown && { format }),
  };
}

function choiceField({
  enum: values,
  enumNames,
  oneOf,
}: Record<string, unknown>): FormField | string {
  const choices = readChoices(values ?? oneOf, enumNames);
  return typeof choices === 'string' ? choices : { type: 'choice', choices };
}

function choicesField({ items, ...property }: Record<string, unknown>): FormField | string {
  if (!isRecord(items)) return 'is a list of anything';
  const choices = readChoices(items['enum'] ?? items['anyOf'] ?? items['oneOf'], undefined);
  if (typeof choices === 'string') return choices;
  return {
    type: 'choices',
    choices,
    ...numberAt(property, 'minItems'),
    ...numberAt(property, 'maxItems'),
  };
}

function readChoices(values: unknown, titles: unknown): readonly FormChoice[] | string {
  if (!Array.isArray(values) || values.length === 0) return 'has no choices';
  if (values.length > maxChoices) return `has more than ${maxChoices} choices`;
  const choices = values.map((value: unknown, index): FormChoice | undefined => {
    const name: unknown = Array.isArray(titles) ? titles[index] : undefined;
    const { const: chosen, title } = isRecord(value) ? value : { const: value, title: name };
    // It is sent back unchanged, so it must be what the user saw.
    if (typeof chosen !== 'string' || !isPlain(chosen)) return undefined;
    return { value: chosen, title: titleOf(title, chosen) };
  });
  const isRead = choices.every((choice) => choice !== undefined);
  return isRead ? choices : 'has a choice that cannot be printed';
}

function titleOf(title: unknown, value: string): string {
  const words = typeof title === 'string' ? printableLine(title, nameCharacters) : '';
  return words === '' ? value : words;
}

function isPlain(text: string): boolean {
  return text.length <= nameCharacters && printableLine(text, nameCharacters) === text;
}

function numberAt(property: Record<string, unknown>, key: string): Record<string, number> {
  const value = property[key];
  return typeof value === 'number' && Number.isFinite(value) ? { [key]: value } : {};
}

/** The form as a protocol schema, with only the checked parts. */
function schemaOf(
  fields: readonly NamedField[],
  written: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return {
    type: 'object',
    properties: Object.fromEntries(
      fields.map(({ name, field }) => [name, propertyOf(field, written[name])]),
    ),
    required: fields.flatMap(({ name, isRequired }) => (isRequired ? [name] : [])),
  };
}

function propertyOf(field: FormField, written: unknown): Readonly<Record<string, unknown>> {
  if (field.type !== 'choice' && field.type !== 'choices') return { ...field };
  const { choices, type, ...words } = field;
  const isTitled = choices.some(({ value, title }) => value !== title);
  const values = choices.map(({ value }) => value);
  const titled = choices.map(({ value, title }) => ({ const: value, title }));
  // The older way to write titles, for clients that only know that one.
  if (type === 'choice' && isTitled && isRecord(written) && written['enumNames'] !== undefined)
    return { type: 'string', ...words, enum: values, enumNames: titled.map(({ title }) => title) };
  if (type === 'choice')
    return { type: 'string', ...words, ...(isTitled ? { oneOf: titled } : { enum: values }) };
  const items = isTitled ? { anyOf: titled } : { type: 'string', enum: values };
  return { type: 'array', ...words, items };
}
