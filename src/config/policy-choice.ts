/**
 * The value of a key `policy`: a preset's name, or an object of overrides.
 *
 * What is wrong is told with the whole key and a value that would do. A field
 * that this version does not obey is accepted, and said to be so.
 */

import {
  type PolicyChoice,
  type PolicyGroup,
  type PolicyOverrides,
  type PresetName,
  presetNames,
} from '../domain/policy.ts';
import { isRecord } from '../policies/is-record.ts';
import { isTroupeWide, takesEffect } from '../policies/presets/policy-reach.ts';
import { closestName } from '../policies/text/closest-name.ts';
import { policySchemas, sentenceFor } from './policy-schema.ts';
import type { TreePath } from './settings-tree.ts';

/** Something about one key: its path below `policy`, and a sentence. */
export interface PolicyRemark {
  readonly path: TreePath;
  readonly message: string;
}

export type ParsedPolicy =
  | { readonly choice: PolicyChoice; readonly remarks: readonly PolicyRemark[] }
  | { readonly fault: PolicyRemark };

/** For one server, fields that are about all of them are refused. */
export type PolicyReach = 'troupe' | 'server';

const groups = Object.keys(policySchemas) as readonly PolicyGroup[];
const presetList = presetNames.map((name) => `"${name}"`).join(', ');
const presetWords = `one of ${presetList}`;

export function parsePolicyChoice(value: unknown, reach: PolicyReach): ParsedPolicy {
  if (typeof value === 'string') {
    const preset = presetNamed(value);
    if (preset === undefined)
      return { fault: { path: [], message: unknownPreset('policy', value) } };
    return { choice: { preset, overrides: {} }, remarks: [] };
  }
  if (!isRecord(value)) {
    const message = `"policy" must be ${presetWords}, or an object as { "preset": "default", "restart": { "maxAttempts": 3 } }`;
    return { fault: { path: [], message } };
  }
  return parseObject(value, reach);
}

function parseObject(value: Readonly<Record<string, unknown>>, reach: PolicyReach): ParsedPolicy {
  const overrides: [string, Readonly<Record<string, unknown>>][] = [];
  const remarks: PolicyRemark[] = [];
  let preset: PresetName | undefined;
  for (const [key, content] of Object.entries(value)) {
    if (key === 'preset') {
      preset = presetNamed(content);
      if (preset === undefined)
        return { fault: { path: [key], message: unknownPreset(key, content) } };
      continue;
    }
    const group = groups.find((name) => name === key);
    if (group === undefined)
      return { fault: { path: [key], message: unknownKey(key, ['preset', ...groups]) } };
    const parsed = parseGroup(group, content, reach);
    if ('fault' in parsed) return parsed;
    overrides.push([group, parsed.fields]);
    remarks.push(...parsed.remarks);
  }
  return {
    // Every field has passed the schema of its own key.
    choice: {
      ...(preset === undefined ? {} : { preset }),
      overrides: Object.fromEntries(overrides) as PolicyOverrides,
    },
    remarks,
  };
}

function parseGroup(
  group: PolicyGroup,
  content: unknown,
  reach: PolicyReach,
):
  | { readonly fault: PolicyRemark }
  | {
      readonly fields: Readonly<Record<string, unknown>>;
      readonly remarks: readonly PolicyRemark[];
    } {
  const schemas = new Map(Object.entries(policySchemas[group]));
  const names = [...schemas.keys()];
  if (!isRecord(content)) {
    const message = `"${group}" must be an object with some of ${names.join(', ')}`;
    return { fault: { path: [group], message } };
  }
  const fields: [string, unknown][] = [];
  const remarks: PolicyRemark[] = [];
  for (const [field, given] of Object.entries(content)) {
    const path = [group, field];
    const schema = schemas.get(field);
    if (schema === undefined) return { fault: { path, message: unknownKey(field, names) } };
    if (reach === 'server' && isTroupeWide(group, field)) {
      const message = `"${group}.${field}" counts for all servers together; set it in "mcp": { "policy": { … } }`;
      return { fault: { path, message } };
    }
    const parsed = schema.safeParse(given);
    if (!parsed.success) {
      const message = `"${group}.${field}" ${sentenceFor(schema, given, parsed.error)}`;
      return { fault: { path, message } };
    }
    fields.push([field, parsed.data]);
    if (!takesEffect(group, field)) {
      const message = `"${group}.${field}" has no effect in this version; remove it, or leave it for later ones`;
      remarks.push({ path, message });
    }
  }
  return { fields: Object.fromEntries(fields), remarks };
}

function unknownPreset(key: string, value: unknown): string {
  const closest = typeof value === 'string' ? closestName(value, presetNames) : undefined;
  return closest === undefined
    ? `"${key}" must be ${presetWords}`
    : `there is no such preset; did you mean "${closest}"?`;
}

function unknownKey(key: string, names: readonly string[]): string {
  const closest = closestName(key, names);
  return closest === undefined
    ? `unknown key; remove it or write one of ${names.join(', ')}`
    : `unknown key; did you mean "${closest}"?`;
}

function presetNamed(value: unknown): PresetName | undefined {
  return presetNames.find((name) => name === value);
}
