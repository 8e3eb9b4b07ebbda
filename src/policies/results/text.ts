/** Cuts the texts of an answer to what may be shown. */

import type { ToolResult } from '../../domain/tool.ts';

type Block = ToolResult['content'][number];

export interface CutResult {
  /** All texts, one after the other. */
  readonly whole: string;
  readonly shownLength: number;
  /** The answer with this note where it was cut. */
  readonly withNote: (note: string) => ToolResult;
}

/**
 * The texts are those of text blocks and of embedded resources, together. The first that does not fit is
 * cut, and later ones are left out; all else stays. Undefined = it all fits.
 */
export function cutTexts(result: ToolResult, maxLength: number): CutResult | undefined {
  const texts = result.content.flatMap((block) => textOf(block) ?? []);
  if (texts.reduce((sum, text) => sum + text.length, 0) <= maxLength) return undefined;
  const [before, after]: [Block[], Block[]] = [[], []];
  let left = maxLength;
  let isCut = false;
  for (const block of result.content) {
    const text = textOf(block);
    if (text === undefined) (isCut ? after : before).push(block);
    else if (!isCut) {
      isCut = text.length > left;
      const shown = isCut ? headOf(text, left) : text;
      left -= shown.length;
      if (!isCut) before.push(block);
      else if (shown !== '') before.push(withText(block, shown));
    }
  }
  return {
    whole: texts.join('\n'),
    shownLength: maxLength - left,
    withNote: (note) => ({
      ...result,
      content: [...before, { type: 'text', text: note }, ...after],
    }),
  };
}

function textOf(block: Block): string | undefined {
  const holder = block['type'] === 'resource' ? block['resource'] : block;
  if (block['type'] !== 'text' && block['type'] !== 'resource') return undefined;
  if (typeof holder !== 'object' || holder === null || !('text' in holder)) return undefined;
  return typeof holder.text === 'string' ? holder.text : undefined;
}

function withText(block: Block, text: string): Block {
  if (block['type'] === 'text') return { ...block, text };
  return { ...block, resource: { ...(block['resource'] as object), text } };
}

/** Never half of a pair. */
function headOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');
}
