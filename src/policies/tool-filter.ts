/** Decides by name which tools of a server are shown. */

import type { ToolFilter } from '../domain/settings.ts';

/**
 * Says whether a tool is shown: some include pattern matches and no exclude does.
 * Without `include` all are included; with an empty one, none.
 *
 * In a pattern `*` stands for any run of characters, even an empty one; every
 * other character stands for itself. Upper and lower case differ.
 *
 * @param toolName - the server's own name of the tool
 */
export function passesFilter(filter: Partial<ToolFilter>, toolName: string): boolean {
  const { include = ['*'], exclude = [] } = filter;
  const matches = (pattern: string) => matchesGlob(pattern, toolName);
  return include.some(matches) && !exclude.some(matches);
}

// No regular expression is made of what a person wrote. Taking the first place
// where each piece fits is enough, as `*` can always stand for more: no step is
// ever taken back.
function matchesGlob(pattern: string, text: string): boolean {
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
