/** Checks a tool's result: its size, a demand for a login, and overlong texts. */

import { keepNumbers } from '../../domain/data/exact-json.ts';
import type { ToolResult } from '../../domain/tool.ts';

export interface ResultBounds {
  /** Characters of all texts, data and names together. */
  readonly maxLength: number;
  /** Nesting levels, including the result itself. */
  readonly maxDepth: number;
}

/** Returns the bound that a result exceeds; undefined if none. Stops at the first excess. */
export function excessOf(
  result: ToolResult,
  { maxLength, maxDepth }: ResultBounds,
): 'length' | 'depth' | undefined {
  const walk = { left: maxLength, isTooDeep: false };
  measure(result, maxDepth, walk);
  if (walk.isTooDeep) return 'depth';
  return walk.left < 0 ? 'length' : undefined;
}

function measure(value: unknown, levels: number, walk: { left: number; isTooDeep: boolean }): void {
  if (typeof value === 'string') walk.left -= value.length;
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) walk.isTooDeep = true;
  if (Array.isArray(value)) {
    for (const part of value) {
      if (walk.left < 0 || walk.isTooDeep) return;
      // A list has no names; each of its parts takes a comma at least.
      walk.left -= 1;
      measure(part, levels - 1, walk);
    }
    return;
  }
  for (const name of Object.keys(value)) {
    if (walk.left < 0 || walk.isTooDeep) return;
    walk.left -= name.length;
    measure((value as Readonly<Record<string, unknown>>)[name], levels - 1, walk);
  }
}

const challengeKey = 'mcp/www_authenticate';

/**
 * Returns the challenge of an error result that demands a login: besides its text, it carries what
 * an HTTP server would put into `WWW-Authenticate`. Only errors count.
 */
export function loginChallenge({ isError, _meta: meta }: ToolResult): string | undefined {
  if (isError !== true || typeof meta !== 'object' || meta === null) return undefined;
  if (!Object.hasOwn(meta, challengeKey)) return undefined;
  const challenges = [meta[challengeKey]]
    .flat()
    .filter((value) => typeof value === 'string' && value.trim() !== '');
  return challenges.length === 0 ? undefined : challenges.join(', ');
}

type Block = ToolResult['content'][number];

export interface CutResult {
  /** All texts, joined. */
  readonly whole: string;
  readonly shownLength: number;
  /** Returns the result with a note at the cut. */
  readonly withNote: (note: string) => ToolResult;
}

/**
 * Cuts the texts of text blocks and embedded resources, together: the first that does not fit is
 * cut, and later ones are left out. Everything else stays. Undefined if all texts fit.
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
    withNote: (note) => {
      const content = [...before, { type: 'text', text: note }, ...after];
      return keepNumbers({ ...result, content }, result);
    },
  };
}

function textOf(block: Block): string | undefined {
  const holder = block['type'] === 'resource' ? block['resource'] : block;
  if (block['type'] !== 'text' && block['type'] !== 'resource') return undefined;
  if (typeof holder !== 'object' || holder === null || !('text' in holder)) return undefined;
  return typeof holder.text === 'string' ? holder.text : undefined;
}

function withText(block: Block, text: string): Block {
  if (block['type'] === 'text') return keepNumbers({ ...block, text }, block);
  const resource = block['resource'] as object;
  return keepNumbers({ ...block, resource: keepNumbers({ ...resource, text }, resource) }, block);
}

/** Cuts without splitting a surrogate pair. */
function headOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');
}
