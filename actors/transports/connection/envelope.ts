/**
 * Reads the envelope of a JSON-RPC message that is too long to be held: its id, and whether it
 * is a result or an error. Deeper levels are skipped, so an id in a tool's text does not count.
 */

export interface Envelope {
  /** Absent if the message has no id, or none that could be read. */
  readonly id?: string | number;
  readonly isResult: boolean;
  readonly isError: boolean;
  readonly isMethod: boolean;
}

export interface EnvelopeReader {
  push(bytes: Buffer): void;
  /** Returns what was read so far. */
  envelope(): Envelope;
}

const quote = 0x22;
const backslash = 0x5c;
const [openBrace, closeBrace] = [0x7b, 0x7d];
const [openBracket, closeBracket] = [0x5b, 0x5d];
const colon = 0x3a;
const comma = 0x2c;
// Longer names and ids are not ours.
const maxWordBytes = 128;

export function createEnvelopeReader(): EnvelopeReader {
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  /** Bytes of the present name or plain value on the outer level. */
  let word: number[] = [];
  let name: string | undefined;
  let id: string | number | undefined;
  const names = new Set<string>();

  const endName = (): void => {
    name = String(parsed(word));
    names.add(name);
    word = [];
  };
  const endValue = (): void => {
    const value = name === 'id' ? parsed(word) : undefined;
    // The last of several counts, as in `JSON.parse`.
    if (typeof value === 'string' || typeof value === 'number') id = value;
    name = undefined;
    word = [];
  };
  const keep = (byte: number): void => {
    if (depth === 1 && word.length <= maxWordBytes) word.push(byte);
  };
  const structure = (byte: number): void => {
    if (byte === openBrace || byte === openBracket) depth += 1;
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth === 1) endValue();
      depth -= 1;
    } else if (depth !== 1) return;
    else if (byte === colon) endName();
    else if (byte === comma) endValue();
    else keep(byte);
  };
  /** Reads within a string; returns the next position. */
  const inString = (bytes: Buffer, at: number): number => {
    const byte = bytes[at] as number;
    if (isEscaped) isEscaped = false;
    else if (byte === backslash) isEscaped = true;
    else if (byte === quote) isInString = false;
    else if (depth > 1) return nextMark(bytes, at);
    keep(byte);
    return at + 1;
  };

  return {
    push(bytes) {
      let at = 0;
      while (at < bytes.length) {
        if (isInString) {
          at = inString(bytes, at);
          continue;
        }
        const byte = bytes[at] as number;
        if (byte === quote) {
          isInString = true;
          keep(byte);
        } else structure(byte);
        at += 1;
      }
    },
    envelope: () => ({
      ...(id !== undefined && { id }),
      isResult: names.has('result'),
      isError: names.has('error'),
      isMethod: names.has('method'),
    }),
  };
}

/** Position of the next byte that may end a string or escape its end. */
function nextMark(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== quote && bytes[at] !== backslash) at += 1;
  return at;
}

function parsed(word: readonly number[]): unknown {
  try {
    return JSON.parse(Buffer.from(word).toString('utf8'));
  } catch {
    return undefined;
  }
}
