/**
 * The value of a key `policy`: a preset's name, or an object of overrides.
 *
 * Each fault names the whole key and an acceptable value.
 */

import { isRecord } from '../domain/data/is-record.ts';
import {
  type PolicyChoice,
  type PolicyGroup,
  type PolicyOverrides,
  type PresetName,
  presetNames,
  type ServerPolicy,
} from '../domain/policy.ts';
import { overridePolicy } from '../policies/presets/override-policy.ts';
import { presets } from '../policies/presets/presets.ts';
import { closestName, unknownKeyMessage } from '../policies/text/closest-name.ts';
import { isTroupeWide, policySchemas, sentenceFor } from './policy-schema.ts';
import type { Fault, TreePath } from './settings-tree.ts';

/** A fault of one key; the path starts below `policy`. */
export type PolicyFault = Omit<Fault, 'line'>;

export type ParsedPolicy = { readonly choice: PolicyChoice } | { readonly fault: PolicyFault };

const groups = Object.keys(policySchemas) as readonly PolicyGroup[];
const presetWords = `one of ${presetNames.map((name) => `"${name}"`).join(', ')}`;

/** @param reach - a server's own policy may not set fields that apply to the whole troupe */
export function parsePolicyChoice(value: unknown, reach: 'troupe' | 'server'): ParsedPolicy {
  if (typeof value === 'string') {
    const preset = presetNamed(value);
    return preset === undefined
      ? faultAt([], unknownPreset('policy', value))
      : { choice: { preset, overrides: {} } };
  }
  if (!isRecord(value))
    return faultAt(
      [],
      `"policy" must be ${presetWords}, or an object such as { "preset": "default", "restart": { "maxAttempts": 3 } }`,
    );
  const overrides: [string, Readonly<Record<string, unknown>>][] = [];
  let preset: PresetName | undefined;
  for (const [key, content] of Object.entries(value)) {
    if (key === 'preset') {
      preset = presetNamed(content);
      if (preset === undefined) return faultAt([key], unknownPreset(key, content));
      continue;
    }
    const group = groups.find((name) => name === key);
    if (group === undefined) return faultAt([key], unknownKeyMessage(key, ['preset', ...groups]));
    const parsed = parseGroup(group, content, reach);
    if ('fault' in parsed) return parsed;
    overrides.push([group, parsed.fields]);
  }
  return {
    choice: {
      ...(preset === undefined ? {} : { preset }),
      // Every field has passed the schema of its own key.
      overrides: Object.fromEntries(overrides) as PolicyOverrides,
    },
  };
}

function parseGroup(
  group: PolicyGroup,
  content: unknown,
  reach: 'troupe' | 'server',
): { readonly fault: PolicyFault } | { readonly fields: Readonly<Record<string, unknown>> } {
  const schemas = new Map(Object.entries(policySchemas[group]));
  const names = [...schemas.keys()];
  if (!isRecord(content))
    return faultAt([group], `"${group}" must be an object with some of ${names.join(', ')}`);
  const fields: [string, unknown][] = [];
  for (const [field, given] of Object.entries(content)) {
    const path = [group, field];
    const name = `"${path.join('.')}"`;
    const schema = schemas.get(field);
    if (schema === undefined) return faultAt(path, unknownKeyMessage(field, names));
    if (reach === 'server' && isTroupeWide(group, field))
      return faultAt(
        path,
        `${name} applies to all servers together; set it in "mcp": { "policy": { … } }`,
      );
    const parsed = schema.safeParse(given);
    if (!parsed.success) return faultAt(path, `${name} ${sentenceFor(schema, parsed.error)}`);
    fields.push([field, parsed.data]);
  }
  return { fields: Object.fromEntries(fields) };
}

function faultAt(path: TreePath, message: string): { readonly fault: PolicyFault } {
  return { fault: { path, message } };
}

function unknownPreset(key: string, value: unknown): string {
  const closest = typeof value === 'string' ? closestName(value, presetNames) : undefined;
  return closest === undefined
    ? `"${key}" must be ${presetWords}`
    : `there is no such preset; did you mean "${closest}"?`;
}

function presetNamed(value: unknown): PresetName | undefined {
  return presetNames.find((name) => name === value);
}

/**
 * Returns the policy that a choice leads to. A choice with a preset starts from
 * that preset alone and ignores `base`. Equal choices share one object.
 */
export function chosenPolicy(base: ServerPolicy, choice: PolicyChoice): ServerPolicy {
  const start = choice.preset === undefined ? base : presets[choice.preset];
  let chosen = chosenFrom.get(start);
  if (chosen === undefined) {
    chosen = { byChoice: new WeakMap(), byText: new Map() };
    chosenFrom.set(start, chosen);
  }
  const { byChoice, byText } = chosen;
  const known = byChoice.get(choice);
  if (known !== undefined) return known;
  const key = JSON.stringify(choice.overrides);
  const policy =
    key === '{}' ? start : (byText.get(key) ?? overridePolicy(start, choice.overrides));
  if (byText.size >= maxCachedChoices) byText.clear();
  byText.set(key, policy);
  byChoice.set(choice, policy);
  return policy;
}

/** Returns the one object that all equal choices share. */
export function sharedChoice(choice: PolicyChoice): PolicyChoice {
  const key = JSON.stringify([choice.preset, choice.overrides]);
  const shared = choices.get(key) ?? choice;
  if (choices.size >= maxCachedChoices) choices.clear();
  choices.set(key, shared);
  return shared;
}

// Thousands of servers make the same few choices (`"startup": "lazy"`); one shared object
// makes hashing and comparing their policies cheap.
const chosenFrom = new WeakMap<
  ServerPolicy,
  { byChoice: WeakMap<PolicyChoice, ServerPolicy>; byText: Map<string, ServerPolicy> }
>();
const choices = new Map<string, PolicyChoice>();
// More than users ever write; beyond it choices are computed again.
const maxCachedChoices = 1_000;
