/**
 * Returns whether a string matches a pattern, in which `*` stands for any number of characters.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  // User input never becomes a regular expression. Taking the first match of each
  // piece is enough, because `*` can always match more; there is no backtracking.
  const [head = '', ...pieces] = pattern.split('*');
  const tail = pieces.pop();
  if (tail === undefined) return text === head;
  if (!text.startsWith(head) || !text.endsWith(tail)) return false;

  let position = head.length;
  for (const piece of pieces) {
    const found = text.indexOf(piece, position);
    if (found === -1) return false;
    position = found + piece.length;
  }
  return position <= text.length - tail.length;
}
