/**
 * The JSON Schema of a settings file, for editors: built from the parser's schemas
 * and the texts of the documentation. Draft 7, which every editor supports.
 */

import { z } from 'zod';
import { type PolicyGroup, presetNames } from '../../src/domain/policy.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { serverEntrySchema } from '../../src/settings/entry/schema.ts';
import { foreignEntryKeys, foreignTypes } from '../../src/settings/formats/mcp-servers-rules.ts';
import { inputSchema, maxInputs } from '../../src/settings/inputs-section.ts';
import { mcpFields } from '../../src/settings/mcp-section.ts';
import { isTroupeWide, policySchemas } from '../../src/settings/policy-schema.ts';
import { isRestartRequired } from '../../src/settings/restart-required.ts';
import { entryRules, keyRules, serverNames } from './entry-rules.ts';
import { mcpKeys } from './mcp-tables.ts';
import { oauthForEditors } from './oauth-rules.ts';
import { oauthWords } from './oauth-tables.ts';
import { meaningOf } from './policy-tables.ts';
import { type KeyWords, serverKeys } from './settings-tables.ts';

/** The file that is published, from the root of the repository. */
export const settingsSchemaPath = 'schema/settings.schema.json';

const atNextStart = 'An edit applies at the next start of the troupe.';

/** The text of the schema. */
export function settingsSchema(): string {
  const { $schema, ...schema } = z.toJSONSchema(settingsFile(), { target: 'draft-7', io: 'input' });
  // A URN rather than a URL: it identifies the schema without promising that a server provides it.
  const named = { $schema, $id: 'urn:mcp-troupe:settings', ...schema };
  return `${JSON.stringify(named, null, 2)}\n`;
}

function settingsFile(): z.ZodType {
  return z
    .looseObject({
      $schema: z.string().meta({ description: 'Where this schema is; for editors.' }).optional(),
      mcpServers: z
        .record(z.string().regex(serverNames), entry())
        .meta({ description: 'The servers by name: docs/settings.md.', maxProperties: 10_000 })
        .optional(),
      mcp: section().optional(),
      inputs: z
        .array(inputSchema)
        .max(maxInputs)
        .meta({
          description:
            'Values that users are asked for when a server needs them, as ${input:id}: docs/values.md.',
          examples: [[{ id: 'token', type: 'promptString', password: true }]],
        })
        .optional(),
    })
    .meta({
      title: 'Settings of mcp-troupe',
      description: 'Servers, lists that limit and numbers: docs/settings.md of the package.',
    });
}

function entry(): z.ZodType {
  const { shape } = serverEntrySchema;
  const oauth = oauthForEditors(
    (key) => wordsFor({ ...oauthWords[key], byDefault: { words: '' } }, 'settings.md'),
    foreignWord,
  );
  const named = { env: valuesOfFile(shape.env), headers: valuesOfFile(shape.headers) };
  const read = { ...shape, ...named, type: typeOfFile(), oauth, policy: policyFor('server') };
  const own = Object.entries(read).map(([key, schema]) => {
    const words = wordsFor(serverKeys[key as keyof typeof serverKeys], 'settings.md');
    const rules = keyRules[key as keyof typeof keyRules] ?? {};
    const taken: z.ZodType = key === 'tools' ? z.union([schema, toolList]) : schema;
    return [key, taken.meta({ ...words, ...rules }).optional()] as const;
  });
  const foreign = foreignEntryKeys.map((key) => [key, z.unknown().meta(foreignWord).optional()]);
  return z.strictObject(Object.fromEntries([...own, ...foreign])).meta(entryRules);
}

const foreignWord = {
  description: 'A supported key of other programs: docs/import.md.',
  deprecated: true,
  doNotSuggest: true,
};

const toolList = z.array(z.string()).meta(foreignWord);

/** Only a host passes in embedded servers, never a file. */
function typeOfFile(): z.ZodType {
  const [first = '', ...others] = foreignTypes;
  return z.union([
    serverEntrySchema.shape.type.unwrap().exclude(['memory']),
    z.enum([first, ...others]).meta(foreignWord),
  ]);
}

/** A file may leave out the quotes of numbers and truth values. */
function valuesOfFile(named: (typeof serverEntrySchema.shape)['env' | 'headers']): z.ZodType {
  const { valueType } = named.unwrap();
  return z.record(z.string(), z.union([...valueType.options, z.number(), z.boolean()]));
}

function section(): z.ZodType {
  const fields = Object.entries({ ...mcpFields, policy: policyFor('troupe') }).map(
    ([key, schema]) => {
      const words = wordsFor(mcpKeys[key as keyof typeof mcpKeys], 'settings.md');
      return [key, withWords(schema, words).optional()];
    },
  );
  return z
    .strictObject(Object.fromEntries(fields))
    .meta({ description: 'Lists that limit, and what counts for all servers.' });
}

/** The fields of each group of policies: all of them, and those that may differ by server. */
const policyGroups = Object.entries(policySchemas).map(([name, schemas]) => {
  const group = name as PolicyGroup;
  const fields = Object.entries<z.ZodType>(schemas).map(
    ([field, schema]) => [field, fieldOf(group, field, schema)] as const,
  );
  const each = fields.filter(([field]) => !isTroupeWide(group, field));
  const whole = z.strictObject(Object.fromEntries(fields)).meta({ id: `policy.${group}` });
  const ofServer = each.length === fields.length ? whole : z.strictObject(Object.fromEntries(each));
  return { group, troupe: whole, server: ofServer };
});

function policyFor(reach: 'troupe' | 'server'): z.ZodType {
  const preset = z.enum(presetNames);
  const groups = policyGroups.map((it) => [it.group, it[reach].optional()]);
  const overrides = z.strictObject({
    preset: preset.meta({ description: 'Where it starts: docs/policies.md.' }).optional(),
    ...Object.fromEntries(groups),
  });
  return z.union([preset, overrides]);
}

function fieldOf(group: PolicyGroup, field: string, schema: z.ZodType): z.ZodType {
  const values = new Map<string, unknown>(Object.entries(presets.default[group]));
  return withWords(schema, {
    description: plain(meaningOf(group, field), 'policies.md'),
    default: values.get(field),
  }).optional();
}

function wordsFor(
  { meaning, byDefault, examples }: Omit<KeyWords, 'example'>,
  page: string,
): Readonly<Record<string, unknown>> {
  return {
    description: plain(meaning, page),
    ...(byDefault.value === undefined ? {} : { default: byDefault.value }),
    ...(examples === undefined ? {} : { examples }),
  };
}

function withWords(
  schema: z.ZodType,
  { description, ...words }: Readonly<Record<string, unknown>>,
): z.ZodType {
  return schema.meta({
    ...words,
    description: isRestartRequired(schema)
      ? `${String(description)} ${atNextStart}`
      : String(description),
  });
}

/** Markdown as plain text; links within a page become the name of the page. */
function plain(markdown: string, page: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, (_link, text: string, target: string) => {
      if (target.startsWith('#')) return `docs/${page}`;
      return text.endsWith('.md') ? `docs/${text}` : text;
    })
    .replaceAll(/(docs\/[\w-]+\.md)#[\w-]+/g, '$1')
    .replaceAll('`', '');
}
