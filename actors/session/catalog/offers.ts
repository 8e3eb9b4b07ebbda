/** Reads the resources, templates and prompts of a server: known fields, checked, bounded and printable. */

import type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  PromptArgument,
} from '../../../src/domain/catalog.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import { printableLine } from '../../../src/policies/text/printable.ts';
import type { ListKind, ReadItem } from './list.ts';
import { readName, readWords } from './tool.ts';

// Longer than any web address; a data URL does not belong in a list.
const uriCharacters = 8_192;
const mimeTypeCharacters = 256;
const nameCharacters = 128;
// A form that a user would fill in has a dozen.
const maxArguments = 64;

export const resourceKind: ListKind<ListedResource> = {
  method: 'resources/list',
  field: 'resources',
  one: 'resource',
  many: 'resources',
  read: readResource,
};

export const templateKind: ListKind<ListedResourceTemplate> = {
  method: 'resources/templates/list',
  field: 'resourceTemplates',
  one: 'resource template',
  many: 'resource templates',
  read: readTemplate,
};

export const promptKind: ListKind<ListedPrompt> = {
  method: 'prompts/list',
  field: 'prompts',
  one: 'prompt',
  many: 'prompts',
  read: readPrompt,
};

/** Returns the resource, or in a few words why it cannot be used. */
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

/** Returns the template, or in a few words why it cannot be used. */
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

/** Returns the prompt, or in a few words why it cannot be used. */
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
  // It is sent back as it is, so it is never repaired.
  return printableLine(address, uriCharacters) === address
    ? undefined
    : `has ${word === 'address' ? 'an' : 'a'} ${word} that cannot be printed`;
}

// Requests use the address; the name is only shown, so a long one is cut.
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
