/**
 * The rules for one key of an entry, and for combinations of keys, as far as JSON Schema can
 * express them. `src/settings/entry/rules.ts` has the same rules as code;
 * `test/settings/settings-schema.test.ts` compares the two.
 */

import { reservedHeaders } from '../../src/settings/entry/rules.ts';
import type { ServerEntry } from '../../src/settings/entry/schema.ts';

type Json = Readonly<Record<string, unknown>>;

export const serverNames = /^(?!-|__proto__$)[\w.:-]{1,100}$/;

const webSocket = String.raw`\s*[Ww][Ss][Ss]?:`;
/** A name or password before the host, without the given letters. */
const credentials = (letters: string): string =>
  String.raw`^\s*\w+:[\\/]*:*[^\\/?#:@${letters}][^\\/?#${letters}]*@`;
const http = String.raw`\s*[Hh][Tt][Tt][Pp][Ss]?:`;
const address = String.raw`(?:${http}|${webSocket})[\\/]*[^\s\\/?#]`;
/** A reference at the beginning of the text; its value is not known yet. */
const reference = String.raw`\$\{(?![^}]*\}[\w+.\-]*:)`;

const pattern = (of: string, patternErrorMessage: string): Json => ({
  pattern: of,
  patternErrorMessage,
});

/** Additions to the schema of each key. */
export const keyRules: Readonly<Partial<Record<keyof ServerEntry, Json>>> = {
  command: pattern(
    String.raw`^(?![~]|\$\w)(?:\S+|(?=[\s\S]*[\\/])\S[\s\S]*\S)$`,
    'The program alone, without a shell: arguments go into "args", and ${HOME} stands for "~".',
  ),
  cwd: pattern(String.raw`^(?!\s*$|~|\$\w)`, 'A folder, without a shell: ${HOME} stands for "~".'),
  envFile: pattern(String.raw`^(?!\s*$|~)`, 'A file, without a shell: ${HOME} stands for "~".'),
  url: {
    ...pattern(`^(?:${address}|${reference})`, 'A whole address, as in "https://host/mcp".'),
    // The value of a reference is not inspected.
    not: { pattern: credentials(String.raw`$\{\}`) },
  },
  proxy: pattern(
    String.raw`^(?:${http}[\\/]*[^\s\\/?#]|\$\{|!)`,
    'The address of a proxy, as in "http://proxy.example.com:3128".',
  ),
  tls: {
    allOf: [
      {
        properties: Object.fromEntries(
          ['ca', 'cert', 'key'].map((key) => [
            key,
            pattern(String.raw`^(?!\s*$|~|\$\w)`, 'A file, without a shell.'),
          ]),
        ),
        dependencies: { key: ['cert'], passphrase: ['cert'] },
      },
    ],
  },
  env: { propertyNames: { pattern: '^[^=]+$' } },
  headers: {
    propertyNames: {
      pattern: String.raw`^[\w!#$%&'*+.^${'`'}|~\-]+$`,
      not: { enum: [...reservedHeaders].flatMap((name) => [name, capitalised(name)]) },
    },
    allOf: [{ additionalProperties: { pattern: String.raw`^[\t\u0020-\u007e\u0080-\u00ff]*$` } }],
  },
};

const has = (...keys: readonly string[]): Json =>
  keys.length === 1 ? { required: keys } : { anyOf: keys.map((key) => ({ required: [key] })) };
const withType = (...types: readonly string[]): Json => ({
  properties: { type: { enum: types } },
  required: ['type'],
});
const without = (...keys: readonly string[]): Json => ({
  properties: Object.fromEntries(keys.map((key) => [key, false])),
});

// oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema; it is never awaited
const when = (condition: Json, rule: Json): Json => ({ if: condition, then: rule });

const plain = { type: ['string', 'number', 'boolean'] };

/** Rules for combinations of keys. */
export const entryRules: Json = {
  oneOf: [has('command'), has('url', 'httpUrl', 'serverUrl')],
  allOf: [
    when(has('command'), without('headers', 'headersCommand', 'proxy', 'tls', 'oauth', 'account')),
    when(has('url'), without('args', 'env', 'envFile', 'cwd')),
    when(withType('stdio'), has('command')),
    when(withType('http', 'streamable-http', 'sse'), {
      ...has('url', 'httpUrl', 'serverUrl'),
      properties: { url: { pattern: `^(?!${webSocket})` } },
    }),
    when(withType('ws'), {
      ...has('url', 'serverUrl'),
      properties: { url: { pattern: `^(?:${webSocket}|${reference})` } },
    }),
    when(withType('sse'), { properties: { era: { not: { const: 'modern' } } } }),
    // A path may contain blanks; followed by an option, it is a command line.
    when(
      { properties: { args: { maxItems: 0 } } },
      { properties: { command: { not: { pattern: String.raw`\s--?\w` } } } },
    ),
    when(
      { properties: { values: { const: 'literal' } }, required: ['values'] },
      {
        properties: {
          url: { pattern: `^${address}`, not: { pattern: credentials('') } },
          env: { additionalProperties: plain },
          headers: { additionalProperties: plain },
          proxy: { type: ['string', 'boolean'], pattern: `^${http}` },
          tls: { additionalProperties: { type: 'string' } },
          headersCommand: false,
        },
      },
    ),
  ],
};

function capitalised(name: string): string {
  return name.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
