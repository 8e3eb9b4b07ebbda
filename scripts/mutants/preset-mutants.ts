/** Changes a number or rule of a preset at run time, which a test of its row in docs/parity.md must notice. */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type PolicyField, type PresetName, presetNames } from '../../src/domain/policy.ts';
import { equalData } from '../../src/policies/equal-data.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { type ShownRow, shownRowsOf, testNamedIn } from '../docs/shown-rows.ts';
import type { Mutant } from './chart-mutants.ts';

// It compares the values themselves, not what follows from them.
const tableTest = '%s: %s has %s = %j';
const placeholder = /%[sijdof#]|\$\{[^}]*\}|\$[\w.]+/u;

// Fields in which all presets agree, or whose next other value has the same effect.
const otherValues: Partial<Record<PolicyField, unknown>> = {
  'naming.collision': 'suffix',
  'startup.withoutCache': 'block',
  'health.mode': 'ping',
};

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

/** The rows of docs/parity.md. */
export const page = shownRowsOf(read('../../docs/parity.md'));

/** Rows of docs/parity.md, with the field of a preset that they are about and its value. */
export const presetRows = parse(read('preset-rows.yaml')) as readonly (readonly [
  rows: string,
  preset: PresetName,
  field: PolicyField,
  value: unknown,
])[];

export const presetMutants: readonly Mutant[] = presetRows.flatMap(([ids, preset, field]) =>
  ids.split(' ').flatMap((id) => mutantOf(id, preset, field)),
);

function mutantOf(id: string, preset: PresetName, field: PolicyField): readonly Mutant[] {
  const row = page.find(({ cells }) => cells[0] === id);
  if (row === undefined) return [];
  const titles = testsOf(row).filter(({ words }) => words !== tableTest);
  const policy = preset === 'default' ? 'defaultPolicy' : preset;
  const [group = '', key = ''] = field.split('.');
  const value = JSON.stringify(otherValues[field] ?? otherThan(preset, group, key));
  const find = 'export const presets:';
  const change = `Object.assign(${policy}, { ${group}: { ...${policy}.${group}, ${key}: ${value} } });`;
  return [
    {
      name: `${id} ${preset}.${field} = ${value}`,
      file: 'src/policies/presets/presets.ts',
      find,
      replace: `${change}\n${find}`,
      tests: [...new Set(titles.map(({ file }) => file))],
      titles,
    },
  ];
}

/** Returns the tests that a row of the page names; their titles match with any values. */
export function testsOf({ shownBy }: ShownRow) {
  return shownBy
    .flatMap((part) => testNamedIn(part) ?? [])
    .map(({ file, title }) => ({
      file: `test/${file}`,
      words: title,
      title: new RegExp(`^${patternOf(title)}$`, 'su'),
    }));
}

/** Returns the source of a pattern that matches a title with any values in it. */
export function patternOf(title: string): string {
  const parts = title.split(placeholder);
  return parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&')).join('.*');
}

/** Returns the value of the next preset that differs; a number may be unlike all of them. */
function otherThan(preset: PresetName, group: string, key: string): unknown {
  const valueOf = (name: PresetName): unknown =>
    (presets[name] as unknown as Record<string, Record<string, unknown>>)[group]?.[key];
  const value = valueOf(preset);
  if (typeof value === 'number') return value * 2 + 1;
  const other = presetNames.map(valueOf).find((each) => !equalData(each, value));
  return other ?? (value === null ? 1 : !value);
}
