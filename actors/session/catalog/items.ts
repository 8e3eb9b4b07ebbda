/** Reads the items of a server's lists: known fields, checked, bounded and printable. */

import type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  PromptArgument,
} from '../../../src/domain/catalog.ts';
import type { ListedTool, ToolAnnotations } from '../../../src/domain/tool.ts';
import { wrongArgumentHeader } from '../../../src/policies/calls/argument-headers.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import { printableLine, printableText } from '../../../src/policies/text/printable.ts';
import type { ListKind, ReadItem } from './list.ts';

const nameCharacters = 128;
// Callers see at most 2,048; the digest that pins a definition should cover more.
const descriptionCharacters = 16_384;
const schemaCharacters = 262_144;
const schemaDepth = 32;
// Longer than any web address; a data URL does not belong in a list.
const uriCharacters = 8_192;
const mimeTypeCharacters = 256;
// A form that a user fills in has about a dozen.
const maxArguments = 64;

export const toolKind: ListKind<ListedTool> = {
  method: 'tools/list',
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
  const words = { ...name, ...readWords(value) };
  const annotations = readAnnotations(value['annotations']);
  const tool: ListedTool = {
    ...words,
    inputSchema,
    ...(isRecord(outputSchema) && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
  const characters = JSON.stringify(words).length + input + output;
  return { item: tool, key: tool.name, characters };
}

/** Returns the name, or the reason why it is invalid. */
function readName(name: unknown): Pick<ListedTool, 'name'> | string {
  if (typeof name !== 'string' || name === '') return 'has no name';
  if (name.length > nameCharacters) return `has a name of more than ${nameCharacters} characters`;
  if (printableLine(name, nameCharacters) !== name) return 'has a name that cannot be printed';
  return { name };
}

/** Returns the title and description, printable and cut to size. */
function readWords({ title, description }: Record<string, unknown>) {
  return {
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof description === 'string' && {
      description: printableText(description, descriptionCharacters),
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

function readAnnotations(value: unknown): ToolAnnotations | undefined {
  if (!isRecord(value)) return undefined;
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = value;
  return {
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof readOnlyHint === 'boolean' && { readOnlyHint }),
    ...(typeof destructiveHint === 'boolean' && { destructiveHint }),
    ...(typeof idempotentHint === 'boolean' && { idempotentHint }),
    ...(typeof openWorldHint === 'boolean' && { openWorldHint }),
  };
}

export const resourceKind: ListKind<ListedResource> = {
  method: 'resources/list',
  one: 'resource',
  many: 'resources',
  read: readResource,
};

export const templateKind: ListKind<ListedResourceTemplate> = {
  method: 'resources/templates/list',
  one: 'resource template',
  many: 'resource templates',
  read: readTemplate,
};

export const promptKind: ListKind<ListedPrompt> = {
  method: 'prompts/list',
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
  return kept(String(uri), {
    uri: String(uri),
    name: readLabel(value['name'], uri),
    ...readWords(value),
    ...readMimeType(value),
    ...(typeof size === 'number' && Number.isFinite(size) && size >= 0 && { size }),
  });
}

/** Returns the template, or a short reason why it cannot be used. */
function readTemplate(value: unknown): ReadItem<ListedResourceTemplate> | string {
  if (!isRecord(value)) return 'is not an object';
  const { uriTemplate } = value;
  const wrong = whatIsWrongWith(uriTemplate, 'template');
  if (wrong !== undefined) return wrong;
  return kept(String(uriTemplate), {
    uriTemplate: String(uriTemplate),
    name: readLabel(value['name'], uriTemplate),
    ...readWords(value),
    ...readMimeType(value),
  });
}

/** Returns the prompt, or a short reason why it cannot be used. */
function readPrompt(value: unknown): ReadItem<ListedPrompt> | string {
  if (!isRecord(value)) return 'is not an object';
  const name = readName(value['name']);
  if (typeof name === 'string') return name;
  const given = value['arguments'];
  if (given === undefined || given === null)
    return kept(name.name, { ...name, ...readWords(value) });
  if (!Array.isArray(given)) return 'has arguments that are not a list';
  if (given.length > maxArguments) return `has more than ${maxArguments} arguments`;
  const read = given.map(readArgument);
  const wrong = read.find((argument) => typeof argument === 'string');
  if (wrong !== undefined) return `has an argument that ${wrong}`;
  return kept(name.name, {
    ...name,
    ...readWords(value),
    arguments: read.filter((argument) => typeof argument !== 'string'),
  });
}

function readArgument(value: unknown): PromptArgument | string {
  if (!isRecord(value)) return 'is not an object';
  const name = readName(value['name']);
  if (typeof name === 'string') return name;
  const { required } = value;
  return { ...name, ...readWords(value), ...(typeof required === 'boolean' && { required }) };
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

// Requests use the address; the name is only displayed, so a long one is cut.
function readLabel(name: unknown, address: unknown): string {
  const label = typeof name === 'string' ? printableLine(name, nameCharacters) : '';
  return label === '' ? printableLine(String(address), nameCharacters) : label;
}

function readMimeType({ mimeType }: Record<string, unknown>) {
  return typeof mimeType === 'string'
    ? { mimeType: printableLine(mimeType, mimeTypeCharacters) }
    : {};
}

function kept<Item>(key: string, item: Item): ReadItem<Item> {
  return { item, key, characters: JSON.stringify(item).length };
}
