/**
 * Maximum size of a settings file: ten thousand servers of 800 bytes each. One with a package, two
 * paths and three variables takes 300 on one line and 550 with line breaks.
 */
export const maxSettingsBytes = 8_000_000;

/**
 * Reads the bytes of a settings file as text, without a leading byte order mark.
 *
 * Only UTF-8 is read. Other encodings are refused by name rather than guessed: a
 * guess could turn one server's command into another.
 *
 * @param size - the file's size, of which only a part may have been read
 */
export function decodeSettings(
  bytes: Uint8Array,
  size = bytes.length,
): { readonly text: string } | { readonly message: string } {
  if (bytes.length > maxSettingsBytes) return { message: tooLong(size, maxSettingsBytes) };
  const [first, second] = bytes;
  const hasWideMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (hasWideMark) return { message: 'the file is UTF-16; save it as UTF-8' };
  if (bytes.includes(0))
    return { message: 'the file holds NUL bytes, as UTF-16 or damaged files do; save it as UTF-8' };
  try {
    // `ignoreBOM` keeps the mark; the parser removes it.
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { message: 'the file is not valid UTF-8; save it as UTF-8' };
  }
}

/** Names both sizes, because a user whose settings are generated knows neither. */
export function tooLong(size: number, most: number): string {
  return `the settings are longer than ${most} bytes (they have ${size}); split them into several files, and name each with --config or in "sources"`;
}
