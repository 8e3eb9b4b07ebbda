/**
 * Says whether a text fits a pattern, in which `*` stands for any run of
 * characters, even an empty one; every other character stands for itself.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  // No regular expression is made of what a person wrote. Taking the first place
  // where each piece fits is enough, as `*` can always stand for more: no step is
  // ever taken back.
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
