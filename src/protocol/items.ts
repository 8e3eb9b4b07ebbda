/**
 * Reads the items of a server's lists: known fields checked, everything bounded, and texts in the server's
 * own words. What callers see is made printable where it is shown.
 */

import type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  PromptArgument,
} from '../domain/catalog.ts';
import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { printableLine, shorten } from '../domain/data/printable.ts';
import type { ListedExtras, ListedTool, ToolAnnotations } from '../domain/tool.ts';
import { wrongArgumentHeader } from './argument-headers.ts';
import type { ListKind, ReadItem } from './lists.ts';

const nameCharacters = 128;
// A few models read more, and no user does.
const descriptionCharacters = 16_384;
const schemaCharacters = 262_144;
const schemaDepth = 32;
// Longer than any web address; a data URL does not belong in a list.
const uriCharacters = 8_192;
const mimeTypeCharacters = 256;
// A form that a user fills in has about a dozen.
const maxArguments = 64;
// Hosts of apps read a few hundred characters; an icon may be a small picture.
const extraCharacters = 65_536;

export const toolKind: ListKind<ListedTool> = {
  key: 'listTools',
  one: 'tool',
  many: 'tools',
  read: readTool,
};

/** Tools whose arguments may have to be repeated in request headers. */
export const toolWithHeadersKind: ListKind<ListedTool> = {
  ...toolKind,
  read(value) {
    const read = readTool(value);
    if (typeof read === 'string') return read;
    return wrongArgumentHeader(read.item.inputSchema) ?? read;
  },
};

/** Returns the tool, or a short reason why it cannot be used. Reads schemas only up to their limits. */
function readTool(value: unknown): ReadItem<ListedTool> | string {
  if (!isRecord(value)) return 'is not an object';
  const name = readName(value['name']);
  if (typeof name === 'string') return name;
  const inputSchema = value['inputSchema'];
  if (!isRecord(inputSchema) || inputSchema['type'] !== 'object')
    return 'has no input schema of type object';
  const outputSchema = value['outputSchema'];
  const input = measureSchema(inputSchema);
  if (typeof input === 'string') return input;
  const output = outputSchema === undefined ? 0 : measureSchema(outputSchema);
  if (typeof output === 'string') return output;
  const rest = readRest(value, toolFields);
  const execution = readExecution(value['execution']);
  const words = { ...name, ...readWords(value), ...execution, ...rest.fields };
  const annotations = readAnnotations(value['annotations']);
  const tool: ListedTool = {
    ...words,
    inputSchema,
    ...(isRecord(outputSchema) && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
  const characters = JSON.stringify(words).length + input + output;
  return { item: keepNumbers(tool, value), key: tool.name, characters, leftOut: rest.leftOut };
}

const toolFields = ['inputSchema', 'outputSchema', 'annotations', 'execution'];

function readExecution(execution: unknown): Pick<ListedTool, 'execution'> {
  return isRecord(execution) && isSmall(execution) ? { execution } : {};
}

interface Rest {
  readonly fields: ListedExtras;
  /** Fields that are too large to keep. */
  readonly leftOut: readonly string[];
}

/** Returns the icons, the metadata and the unknown fields of an item, as they are. */
function readRest(item: Record<string, unknown>, known: readonly string[]): Rest {
  const { icons, _meta: meta, name: _name, title: _title, description: _words, ...others } = item;
  const leftOut: string[] = [];
  const fits = (key: string, value: unknown): boolean => {
    const isKept = isSmall(value);
    if (!isKept) leftOut.push(printableLine(key, nameCharacters));
    return isKept;
  };
  const shownIcons = Array.isArray(icons) ? icons.filter(isIcon) : [];
  const unknown = Object.entries(others).filter(([key]) => !known.includes(key));
  const extra = keepNumbers(Object.fromEntries(unknown), item);
  const fields = {
    ...(shownIcons.length > 0 && fits('icons', shownIcons) && { icons: shownIcons }),
    ...(isRecord(meta) && fits('_meta', meta) && { _meta: meta }),
    ...(unknown.length > 0 && fits(unknown.map(([key]) => key).join(', '), extra) && { extra }),
  };
  return { fields, leftOut };
}

// A wrong one would make the whole list invalid for clients that check it.
function isIcon(icon: unknown): icon is Readonly<Record<string, unknown>> {
  if (!isRecord(icon) || typeof icon['src'] !== 'string') return false;
  const { mimeType = '', sizes = [], theme = 'light' } = icon;
  const hasSizes = Array.isArray(sizes) && sizes.every((size) => typeof size === 'string');
  return typeof mimeType === 'string' && hasSizes && (theme === 'light' || theme === 'dark');
}

/** Returns whether a value is within the limits of what is passed on unread. */
export function isSmall(value: unknown): boolean {
  const walk = { charactersLeft: extraCharacters, isTooDeep: false };
  measure(value, schemaDepth, walk);
  if (walk.isTooDeep || walk.charactersLeft < 0) return false;
  return JSON.stringify(value).length <= extraCharacters;
}

/** Returns the name, or the reason why it is invalid. */
function readName(name: unknown): Pick<ListedTool, 'name'> | string {
  if (typeof name !== 'string' || name === '') return 'has no name';
  if (name.length > nameCharacters) return `has a name of more than ${nameCharacters} characters`;
  if (printableLine(name, nameCharacters) !== name) return 'has a name that cannot be printed';
  return { name };
}

/** Returns the title and description, cut to size. */
function readWords({ title, description }: Record<string, unknown>) {
  return {
    ...(typeof title === 'string' && { title: shorten(title, descriptionCharacters) }),
    ...(typeof description === 'string' && {
      description: shorten(description, descriptionCharacters),
    }),
  };
}

/** Returns a schema's length, or the reason why it cannot be used. */
function measureSchema(schema: unknown): number | string {
  if (!isRecord(schema)) return 'has a schema that is not an object';
  const walk = { charactersLeft: schemaCharacters, isTooDeep: false };
  // Start with a scan that stops early: serializing megabytes only to refuse them is slow.
  measure(schema, schemaDepth, walk);
  if (walk.isTooDeep) return `has a schema of more than ${schemaDepth} levels`;
  const characters = walk.charactersLeft < 0 ? Infinity : JSON.stringify(schema).length;
  return characters > schemaCharacters ? 'has a schema of more than 256 KB' : characters;
}

/** Subtracts a value's minimum length from the budget, and stops at the first exceeded limit. */
function measure(
  value: unknown,
  levels: number,
  walk: { charactersLeft: number; isTooDeep: boolean },
): void {
  walk.charactersLeft -= typeof value === 'string' ? value.length + 2 : 1;
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) walk.isTooDeep = true;
  for (const [key, part] of Object.entries(value)) {
    if (walk.charactersLeft < 0 || walk.isTooDeep) return;
    if (!Array.isArray(value)) walk.charactersLeft -= key.length + 3;
    measure(part, levels - 1, walk);
  }
}

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function readAnnotations(value: unknown): ToolAnnotations | undefined {
  return readFields(value, (key, part) => {
    if (key === 'title') return typeof part === 'string';
    return !hints.includes(key) || typeof part === 'boolean';
  });
}

/** Returns the annotations of a resource or template. */
function readAudience({ annotations }: Record<string, unknown>) {
  const read = readFields(annotations, (key, part) => {
    if (key === 'audience')
      return Array.isArray(part) && part.every((who) => who === 'user' || who === 'assistant');
    if (key === 'priority') return typeof part === 'number' && part >= 0 && part <= 1;
    return key !== 'lastModified' || typeof part === 'string';
  });
  return read && { annotations: read };
}

/** Returns a small object without the fields of a wrong shape. */
function readFields(
  value: unknown,
  isFit: (key: string, part: unknown) => boolean,
): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(value) || !isSmall(value)) return undefined;
  const entries = Object.entries(value);
  const fit = entries.filter(([key, part]) => isFit(key, part));
  return fit.length === entries.length ? value : keepNumbers(Object.fromEntries(fit), value);
}

export const resourceKind: ListKind<ListedResource> = {
  key: 'listResources',
  one: 'resource',
  many: 'resources',
  read: readResource,
};

export const templateKind: ListKind<ListedResourceTemplate> = {
  key: 'listTemplates',
  one: 'resource template',
  many: 'resource templates',
  read: readTemplate,
};

export const promptKind: ListKind<ListedPrompt> = {
  key: 'listPrompts',
  one: 'prompt',
  many: 'prompts',
  read: readPrompt,
};

/** Returns the resource, or a short reason why it cannot be used. */
function readResource(value: unknown): ReadItem<ListedResource> | string {
  if (!isRecord(value)) return 'is not an object';
  const { uri, size } = value;
  const wrong = whatIsWrongWith(uri, 'address');
  if (wrong !== undefined) return wrong;
  const rest = readRest(value, ['uri', 'mimeType', 'size', 'annotations']);
  const resource: ListedResource = {
    uri: String(uri),
    name: readLabel(value['name'], uri),
    ...readWords(value),
    ...readMimeType(value),
    ...(typeof size === 'number' && Number.isFinite(size) && size >= 0 && { size }),
    ...readAudience(value),
    ...rest.fields,
  };
  return kept(resource.uri, keepNumbers(resource, value), rest);
}

/** Returns the template, or a short reason why it cannot be used. */
function readTemplate(value: unknown): ReadItem<ListedResourceTemplate> | string {
  if (!isRecord(value)) return 'is not an object';
  const { uriTemplate } = value;
  const wrong = whatIsWrongWith(uriTemplate, 'template');
  if (wrong !== undefined) return wrong;
  const rest = readRest(value, ['uriTemplate', 'mimeType', 'annotations']);
  const template: ListedResourceTemplate = {
    uriTemplate: String(uriTemplate),
    name: readLabel(value['name'], uriTemplate),
    ...readWords(value),
    ...readMimeType(value),
    ...readAudience(value),
    ...rest.fields,
  };
  return kept(template.uriTemplate, template, rest);
}

/** Returns the prompt, or a short reason why it cannot be used. */
function readPrompt(value: unknown): ReadItem<ListedPrompt> | string {
  if (!isRecord(value)) return 'is not an object';
  const name = readName(value['name']);
  if (typeof name === 'string') return name;
  const given = value['arguments'];
  const rest = readRest(value, ['arguments']);
  const words = { ...name, ...readWords(value), ...rest.fields };
  if (given === undefined || given === null) return kept(name.name, words, rest);
  if (!Array.isArray(given)) return 'has arguments that are not a list';
  if (given.length > maxArguments) return `has more than ${maxArguments} arguments`;
  const read = given.map(readArgument);
  const wrong = read.find((argument) => typeof argument === 'string');
  if (wrong !== undefined) return `has an argument that ${wrong}`;
  const args = read.filter((argument) => typeof argument !== 'string');
  return kept(name.name, { ...words, arguments: args }, rest);
}

function readArgument(value: unknown): PromptArgument | string {
  if (!isRecord(value)) return 'is not an object';
  const name = readName(value['name']);
  if (typeof name === 'string') return name;
  const { required, name: _name, title: _title, description: _words, ...others } = value;
  return {
    ...name,
    ...readWords(value),
    ...(typeof required === 'boolean' && { required }),
    ...(Object.keys(others).length > 0 && isSmall(others) && { extra: keepNumbers(others, value) }),
  };
}

function whatIsWrongWith(address: unknown, word: string): string | undefined {
  if (typeof address !== 'string' || address === '') return `has no ${word}`;
  if (address.length > uriCharacters)
    return `has ${word === 'address' ? 'an' : 'a'} ${word} of more than ${uriCharacters} characters`;
  // It is sent back as is, so it is never repaired.
  return printableLine(address, uriCharacters) === address
    ? undefined
    : `has ${word === 'address' ? 'an' : 'a'} ${word} that cannot be printed`;
}

// Requests use the address; the name is only displayed.
function readLabel(name: unknown, address: unknown): string {
  const label = typeof name === 'string' ? name : '';
  return printableLine(label, nameCharacters) === ''
    ? printableLine(String(address), nameCharacters)
    : shorten(label, descriptionCharacters);
}

function readMimeType({ mimeType }: Record<string, unknown>) {
  return typeof mimeType === 'string'
    ? { mimeType: printableLine(mimeType, mimeTypeCharacters) }
    : {};
}

function kept<Item>(key: string, item: Item, { leftOut }: Rest): ReadItem<Item> {
  return { item, key, characters: JSON.stringify(item).length, leftOut };
}
