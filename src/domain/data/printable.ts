/**
 * Makes text of a server safe to show on a terminal, in a log or to a model.
 * Removes ANSI sequences, control characters, marks that turn or hide text
 * (bidi, zero-width, tag characters) and lone surrogates.
 */

// CSI sequences, OSC/DCS/SOS/PM/APC strings up to their end, and other two-byte escapes.
const escapeSequences =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/gu;

// C0 but tab and line feed, DEL and C1, soft hyphen, bidi and zero-width marks, fillers, variation
// selectors but the two of pictures, marks of notes and shorthand, tag characters, lone surrogates.
const unprintable =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u{34f}\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\u{fe00}-\u{fe0d}\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\ud800-\udfff]/gu;

// One selector may follow a character; several in a row can encode hidden text.
const furtherSelectors = /(?<=\ufe0e|\ufe0f)(?:\ufe0e|\ufe0f)+/gu;

/** Keeps tabs and line feeds; line ends become line feeds. At most `maxLength` characters. */
export function printableText(text: string, maxLength: number): string {
  // Cut first: a server can send megabytes, and the patterns should not read them all.
  const bounded = text.length > maxLength * 4 ? text.slice(0, maxLength * 4) : text;
  const clean = bounded
    .replace(/\r\n?/gu, '\n')
    .replace(escapeSequences, '')
    .replace(unprintable, '')
    .replace(furtherSelectors, '');
  return shorten(clean, maxLength);
}

/** Converts text to one line: consecutive white space becomes one space. */
export function printableLine(text: string, maxLength: number): string {
  return shorten(
    printableText(text, maxLength * 2)
      .replace(/\s+/gu, ' ')
      .trim(),
    maxLength,
  );
}

// Everything but letters, marks, numbers, signs and plain blanks; and characters that are meant to be invisible.
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Shows every character, for a user who decides by reading: hidden and active
 * characters are written as `\u{200b}`, and nothing is left out, folded or cut.
 */
export function spelledOut(text: string): string {
  return text.replace(unseen, escaped);
}

/** Like {@link spelledOut}, as one unambiguous word in quotation marks. */
export function quotedWord(text: string): string {
  return `"${spelledOut(text.replace(/["\\]/gu, String.raw`\$&`))}"`;
}

/** Returns a name as it is, or quoted where it could be read as two words. */
export function nameWord(name: string): string {
  return /^[\w./@-]+$/u.test(name) ? name : quotedWord(name);
}

/**
 * Like {@link spelledOut}, but leaves out the middle of a string longer than `most` characters. The
 * beginning and the end stay, and the text states how much is missing, so that nothing can hide
 * behind a cut.
 */
export function spelledOutWithin(text: string, most: number): string {
  const all = spelledOut(text);
  if (all.length <= most) return all;
  const head = Math.floor((most * 3) / 4);
  const left = all.length - most;
  return `${all.slice(0, head)} […${left.toLocaleString('en')} more characters…] ${all.slice(head + left)}`;
}

function escaped(character: string): string {
  return `\\u{${Number(character.codePointAt(0)).toString(16)}}`;
}

/** Cuts without splitting a surrogate pair; the last character then is an ellipsis. */
export function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const kept = text.slice(0, maxLength - 1);
  return `${kept.replace(/[\ud800-\udbff]$/u, '')}…`;
}
