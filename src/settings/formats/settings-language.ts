/**
 * Reads a settings text in one of three languages: JSON with comments, TOML or
 * YAML. The readers of the last two are loaded only when a document needs them.
 *
 * A file named `.json` or `.jsonc` is read only as JSON; its text never reaches another
 * language's parser.
 */

import { readableText, readTree, type TreeReading } from '../settings-tree.ts';
import { type TextBounds, tomlText, yamlText } from '../text-bounds.ts';

type SettingsLanguage = 'json' | 'toml' | 'yaml';

export interface SettingsText {
  /** The file's name or path; its extension may decide the language. */
  readonly file: string;
  readonly text: string;
  /** Bounds for a JSON text. Default: those of the user's own settings. */
  readonly bounds?: TextBounds;
  /** Reads a JSON text. */
  readonly readJson?: (text: string, bounds?: TextBounds) => TreeReading | Promise<TreeReading>;
}

/** Never rejects because of the text: an unreadable one is reported as a fault. */
export async function readAnyTree({
  file,
  text,
  bounds,
  readJson = readTree,
}: SettingsText): Promise<TreeReading> {
  const first = firstLine(text);
  if (first === '' && text.includes('#')) {
    const message = 'the text holds nothing but comments; write at least {}';
    return { fault: { line: 1, path: [], message } };
  }
  const language = /\.jsonc?$/iu.test(file) ? 'json' : languageOf(text, first);
  if (language === 'json') return readJson(text, bounds);
  const readable = readableText(text, language === 'toml' ? tomlText : yamlText);
  if ('fault' in readable) return readable;
  if (language === 'toml') {
    const { readTomlTree } = await import('./toml-tree.ts');
    return readTomlTree(readable.body);
  }
  const { readYamlTree } = await import('./yaml-tree.ts');
  return readYamlTree(readable.body);
}

const key = String.raw`(?:[\w-]+|"[^"\n]*"|'[^'\n]*')`;
const tomlTable = new RegExp(
  String.raw`^\[\[?\s*${key}(?:\s*\.\s*${key})*\s*\]\]?\s*(?:#.*)?$`,
  'u',
);
const tomlPair = new RegExp(String.raw`^${key}(?:\s*\.\s*${key})*\s*=`, 'u');
const yamlLine = /^(?:%YAML\b|---(?:\s|$)|-\s|[\w"'][^:{}[\]]*:(?:\s|$))/u;

/**
 * Detects the language by the first line with content. JSON is the default, because
 * its reader has the best messages for a document in none of the three.
 */
function languageOf(text: string, first: string): SettingsLanguage {
  // `[1]` and `["a"]` may be a list or the head of a table; as JSON they are whole.
  if (tomlTable.test(first)) return 'root' in readTree(text) ? 'json' : 'toml';
  if (tomlPair.test(first)) return 'toml';
  return yamlLine.test(first) ? 'yaml' : 'json';
}

function firstLine(text: string): string {
  const lines = text.replace(/^\ufeff/u, '').matchAll(/[^\r\n]+/gu);
  for (const [line] of lines) {
    const trimmed = line.trim();
    if (trimmed !== '' && !trimmed.startsWith('#')) return trimmed;
  }
  return '';
}
