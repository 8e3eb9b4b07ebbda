/**
 * Quotes untrusted text for generated text: programs, pictures, metrics, command lines. Server and
 * tool names, event types and failure messages come from settings, servers and journals, so quoted
 * text must always be read back as text, never as code or markup.
 */

/** The reader of the generated text. */
export type Reader = 'script' | 'shell' | 'markup' | 'mermaid' | 'metrics';

const quoters: Readonly<Record<Reader, (text: string) => string>> = {
  // JSON does not escape these two line ends.
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
  // The format defines an escape for a line feed; other characters that may end a line are replaced.
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

/** Quotes a string for a reader, with quotation marks where the reader needs them. */
export function quotedFor(reader: Reader, text: string): string {
  return quoters[reader](text);
}

/** Returns JSON data as an expression for a script. */
export function literal(data: unknown, indent?: number): string {
  return (
    JSON.stringify(data, undefined, indent)
      .replaceAll('\u2028', '\\u2028')
      .replaceAll('\u2029', '\\u2029')
      // Written plainly it would set the prototype instead of a field.
      .replace(/(?<!\\)"__proto__"(?=:)/gu, '["__proto__"]')
  );
}
