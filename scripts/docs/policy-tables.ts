/** Tables of policies: values come from the presets, meanings from the comments of the domain. */

import type { z } from 'zod';
import { type PolicyGroup, presetNames, type ServerPolicy } from '../../src/domain/policy.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { isTroupeWide, policySchemas } from '../../src/settings/policy-schema.ts';
import { isRestartRequired } from '../../src/settings/restart-required.ts';
import { docOf } from './doc-comments.ts';
import { code, linked, table } from './markdown.ts';

interface Field {
  readonly group: PolicyGroup;
  readonly field: string;
  readonly schema: z.ZodType;
}

const fields: readonly Field[] = Object.entries(policySchemas).flatMap(([group, schemas]) =>
  Object.entries<z.ZodType>(schemas).map(([field, schema]) => ({
    group: group as PolicyGroup,
    field,
    schema,
  })),
);

/** Returns what a field means, in Markdown. */
export function meaningOf(group: PolicyGroup, field: string): string {
  const type = `${group.slice(0, 1).toUpperCase()}${group.slice(1)}Policy`;
  return docOf('src/domain/policy.ts', type, field);
}

/** Every preset against every field that differs somewhere. */
export function presetTable(): string {
  const telling = fields.filter((it) => new Set(valuesOf(it)).size > 1);
  return table(
    ['field', ...presetNames.map(code)],
    telling.map((it) => [code(`${it.group}.${it.field}`), ...differences(valuesOf(it))]),
  );
}

/** Every field: its default, whether it may differ by server, when it applies, what it means. */
export function fieldTable(): string {
  return table(
    ['field', 'default', 'for', 'a change', 'means'],
    fields.map(({ group, field, schema }) => [
      code(`${group}.${field}`),
      shortened(valueOf(presets.default, { group, field })),
      isTroupeWide(group, field) ? 'all' : 'each',
      isRestartRequired(schema) ? 'next start' : 'at once',
      linked(meaningOf(group, field)),
    ]),
  );
}

function valuesOf(it: Field): readonly string[] {
  return presetNames.map((name) => valueOf(presets[name], it));
}

/** Leaves out what equals the default. */
function differences([first = '', ...rest]: readonly string[]): readonly string[] {
  return [shortened(first), ...rest.map((value) => (value === first ? '=' : shortened(value)))];
}

function valueOf(policy: ServerPolicy, { group, field }: Omit<Field, 'schema'>): string {
  return JSON.stringify(new Map<string, unknown>(Object.entries(policy[group])).get(field));
}

/** Adds blanks so that lines can break. */
function shortened(value: string): string {
  return code(value.replaceAll(/([,:])(?=["{[\w])/g, '$1 '));
}
