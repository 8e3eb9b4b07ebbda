/**
 * Puts text of strangers into text that we generate: programs, pictures, metrics, command lines.
 * Names of servers and tools, types of events and messages of failures come from settings, servers
 * and journals of others, so whatever is generated is read back as the same text, or as nothing else.
 */

/** What reads the generated text. */
export type Reader = 'script' | 'shell' | 'markup' | 'mermaid' | 'metrics';

const quoters: Readonly<Record<Reader, (text: string) => string>> = {
  // The two line ends that JSON leaves as they are.
  script: (text) =>
    JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029'),
  shell: (text) =>
    /^[\w./:@=-]+$/u.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`,
  markup: (text) =>
    text
      .replace(notXml, '\ufffd')
      .replace(/[&<>"'\r\n\t]/gu, (it) => named.get(it) ?? `&#${it.codePointAt(0)};`),
  // Mermaid ends labels at a colon or semicolon and lines at their ends, and draws labels as HTML.
  mermaid: (text) =>
    text
      .replace(notXml, '\ufffd')
      .replace(/[#:;"'`<>&\\\s]/gu, (it) => (it === ' ' ? it : `#${it.codePointAt(0)};`)),
  // A line feed is written as the format says; what else ends a line for some reader is replaced.
  metrics: (text) =>
    `"${text
      .replace(otherLineEnds, '\ufffd')
      .replaceAll('\\', String.raw`\\`)
      .replaceAll('\n', String.raw`\n`)
      .replaceAll('"', String.raw`\"`)}"`,
};

const named: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
]);

// oxlint-disable-next-line no-control-regex
const otherLineEnds = /[\u0000\v\f\r\u0085\u2028\u2029]/gu;
const notXml = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** The text as this reader takes it for text; with quotation marks where it wants some. */
export function quotedFor(reader: Reader, text: string): string {
  return quoters[reader](text);
}

/** JSON data as an expression of a script. */
export function literal(data: unknown, indent?: number): string {
  return (
    JSON.stringify(data, undefined, indent)
      .replaceAll('\u2028', '\\u2028')
      .replaceAll('\u2029', '\\u2029')
      // Written plainly it would set the prototype instead of a field.
      .replace(/(?<!\\)"__proto__"(?=:)/gu, '["__proto__"]')
  );
}
