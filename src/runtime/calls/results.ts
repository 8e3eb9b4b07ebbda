/**
 * Prepares a tool's result for its caller: refuses it, cuts it, shrinks it or, usually, leaves it
 * alone. Each result is handled separately; an invalid one affects no other call.
 */

import type { ImageShrinker } from '../../../actors/stores/result-images.ts';
import type { ResultFiles } from '../../../actors/stores/results.ts';
import { keepNumbers, writeJson } from '../../domain/data/exact-json.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ResultPolicy } from '../../domain/policy.ts';
import type { ToolResult } from '../../domain/tool.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import {
  type Binary,
  binaryOf,
  bytesOf,
  extensionOf,
  isBase64,
} from '../../policies/results/binary.ts';
import { cutTexts, excessOf, loginChallenge } from '../../policies/results/content.ts';
import { fitsSchema } from '../../policies/results/schema-check.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { Remarks } from '../shared-ports.ts';

type Block = ToolResult['content'][number];

/** The key under which a result names the files that contain its omitted parts. */
const filesKey = 'mcp-troupe/files';

export interface KeptFile {
  readonly path: string;
  readonly mimeType: string;
  readonly bytes: number;
}

export interface ResultsPorts {
  /** Stores omitted parts; if absent, they are not kept. */
  readonly resultFiles?: ResultFiles | undefined;
  /** Shrinks images; if absent, none is shrunk. */
  readonly images?: ImageShrinker | undefined;
  /** Keeps what a server wants of the next login. */
  readonly noteChallenge?: ((server: string, challenge: string) => void) | undefined;
  /** Takes a line for a server's log. */
  readonly records?: Remarks | undefined;
}

// The first of them tell which tools answer like this.
const maxRemarks = 100;

/** A result and its source. */
export interface ToolAnswer {
  readonly result: ToolResult;
  readonly server: string;
  readonly tool: string;
  readonly policy: ResultPolicy;
  /** Called only if there is structured content to check against it. */
  readonly outputSchema: () => unknown;
}

/** A result under the current policy, which may differ from that at the start of the call. */
export function toolAnswer(
  result: ToolResult,
  { server, tool }: { readonly server: string; readonly tool: string },
  { book, tools }: { readonly book: DesiredBook; readonly tools: ToolList },
): ToolAnswer {
  const { result: policy } = book.policyOf(server);
  const outputSchema = () => tools.listed(server).find(({ name }) => name === tool)?.outputSchema;
  return { result, server, tool, policy, outputSchema };
}

export class Results {
  readonly #ports: ResultsPorts;
  /** The tools whose structured content was found not to fit, after their server. */
  readonly #misfits = new Set<string>();

  constructor(ports: ResultsPorts) {
    this.#ports = ports;
  }

  /**
   * Returns the result as its caller gets it.
   * @throws TroupeError `RESULT_TOO_LARGE` or `AUTH_REQUIRED`, always `executed`.
   */
  shape(given: ToolAnswer): ToolResult | Promise<ToolResult> {
    refuse(given, this.#ports.noteChallenge);
    const result = this.#fitting({ ...given, result: withoutFiles(given.result) });
    const { binaries, imageMaxBytes, imageMaxPixels, textMaxLength } = given.policy;
    const isLight = binaries === 'keep' && imageMaxBytes === null && imageMaxPixels === null;
    return isLight && textMaxLength === null ? result : this.#shrink({ ...given, result }, isLight);
  }

  /**
   * Returns the result without structured content that does not fit the tool's output schema, which
   * becomes the text of a result that has nothing else.
   */
  #fitting({ result, server, tool, policy, outputSchema }: ToolAnswer): ToolResult {
    const { structuredContent, ...rest } = result;
    if (policy.outputSchema === 'ignore' || structuredContent === undefined) return result;
    if (rest.isError === true) return result;
    const schema = outputSchema();
    if (schema === undefined || fitsSchema(schema, structuredContent) !== false) return result;
    const subject = `${server} ${tool}`;
    if (!this.#misfits.has(subject) && this.#misfits.size < maxRemarks) {
      this.#misfits.add(subject);
      const why = 'does not fit its output schema and is left out ("result.outputSchema": "ignore"';
      this.#ports.records?.remark(server, `the structured content of ${tool} ${why} passes it on)`);
    }
    const only = [{ type: 'text', text: writeJson(structuredContent) }];
    const content = rest.content.length === 0 ? only : rest.content;
    return keepNumbers({ ...rest, content }, result);
  }

  async #shrink(answer: ToolAnswer, isLight: boolean): Promise<ToolResult> {
    const { policy } = answer;
    const light = isLight ? answer.result : await this.#lighten(answer);
    return policy.textMaxLength === null ? light : this.#cut(light, policy.textMaxLength, policy);
  }

  async #lighten({ result, policy }: ToolAnswer): Promise<ToolResult> {
    const files: KeptFile[] = [];
    const content: Block[] = [];
    // One at a time: together they might not fit into memory.
    for (const block of result.content) {
      const binary = binaryOf(block);
      content.push(
        binary === undefined ? block : await this.#lighter(block, binary, policy, files),
      );
    }
    return withFiles(keepNumbers({ ...result, content }, result), files);
  }

  async #lighter(
    block: Block,
    binary: Binary,
    policy: ResultPolicy,
    files: KeptFile[],
  ): Promise<Block> {
    if (binary.kind !== 'image') {
      if (policy.binaries === 'keep') return block;
      const kept = await this.#keep(binary, policy);
      // It could not be saved, so the caller gets it.
      return kept === undefined ? block : noteOf(binary, kept, files);
    }
    const smaller = await this.#smaller(binary, policy);
    const { imageMaxBytes } = policy;
    if (imageMaxBytes === null || bytesOf(smaller.data) <= imageMaxBytes)
      return smaller === binary
        ? block
        : keepNumbers({ ...block, data: smaller.data, mimeType: smaller.mimeType }, block);
    const kept = policy.binaries === 'file' ? await this.#keep(binary, policy) : undefined;
    return noteOf(binary, kept, files);
  }

  async #smaller(image: Binary, policy: ResultPolicy): Promise<Binary> {
    const { imageMaxPixels: maxPixels, imageMaxBytes: maxBytes } = policy;
    if (maxPixels === null && (maxBytes === null || bytesOf(image.data) <= maxBytes)) return image;
    if (!isBase64(image.data)) return image;
    const bytes = Buffer.from(image.data, 'base64');
    const smaller = await this.#ports.images?.shrink(bytes, { maxPixels, maxBytes });
    if (smaller === undefined) return image;
    return { kind: 'image', data: smaller.bytes.toString('base64'), mimeType: smaller.mimeType };
  }

  async #keep({ data, mimeType }: Binary, policy: ResultPolicy): Promise<KeptFile | undefined> {
    if (!isBase64(data)) return undefined;
    const extension = extensionOf(mimeType);
    const path = await this.#ports.resultFiles?.save(
      Buffer.from(data, 'base64'),
      extension,
      policy,
    );
    return path === undefined
      ? undefined
      : { path, mimeType: shown(mimeType), bytes: bytesOf(data) };
  }

  async #cut(result: ToolResult, maxLength: number, policy: ResultPolicy): Promise<ToolResult> {
    const cut = cutTexts(result, maxLength);
    if (cut === undefined) return result;
    const { whole, shownLength } = cut;
    const path =
      policy.cutText === 'file'
        ? await this.#ports.resultFiles?.save(whole, 'txt', policy)
        : undefined;
    const where = path === undefined ? '' : ` The whole text is in ${path}`;
    const note = cut.withNote(
      `[Cut: ${shownLength} of ${whole.length} characters are shown.${where}]`,
    );
    if (path === undefined) return note;
    return withFiles(note, [{ path, mimeType: 'text/plain', bytes: Buffer.byteLength(whole) }]);
  }
}

function refuse(
  { result, server, tool, policy }: ToolAnswer,
  noteChallenge: ResultsPorts['noteChallenge'],
): void {
  const about = { server, tool, outcome: 'executed' } as const;
  const excess = excessOf(result, policy);
  if (excess !== undefined) {
    const bound =
      excess === 'length' ? `${policy.maxLength} characters` : `${policy.maxDepth} levels`;
    const message = `${tool} on ${server}: The answer has more than ${bound}. It did run: ask for less.`;
    throw new TroupeError('RESULT_TOO_LARGE', message, about);
  }
  const challenge = policy.authChallenge === 'refuse' ? loginChallenge(result) : undefined;
  if (challenge !== undefined) {
    noteChallenge?.(server, challenge);
    const message = `${tool} on ${server}: The tool answered that it wants a login. Log in to ${server} and call again.`;
    throw new TroupeError('AUTH_REQUIRED', message, about);
  }
}

function noteOf(binary: Binary, kept: KeptFile | undefined, files: KeptFile[]): Block {
  if (kept !== undefined) files.push(kept);
  const where = kept === undefined ? 'too large to be shown' : `saved to ${kept.path}`;
  const type = shown(binary.mimeType);
  const text = `[${binary.kind} ${type}, ${bytesOf(binary.data)} bytes, ${where}]`;
  return { type: 'text', text };
}

function shown(mimeType: string): string {
  return printableLine(mimeType, 100);
}

/** Removes files that the server names: callers open them, so only ours may be listed. */
function withoutFiles(result: ToolResult): ToolResult {
  const meta: unknown = result._meta;
  if (typeof meta !== 'object' || meta === null || !Object.hasOwn(meta, filesKey)) return result;
  const { [filesKey]: _forged, ...rest } = meta as Readonly<Record<string, unknown>>;
  return keepNumbers({ ...result, _meta: keepNumbers(rest, meta) }, result);
}

function withFiles(result: ToolResult, files: readonly KeptFile[]): ToolResult {
  if (files.length === 0) return result;
  const { _meta: meta = {} } = result;
  const before = (meta[filesKey] ?? []) as readonly KeptFile[];
  const all = [...before, ...files];
  return keepNumbers({ ...result, _meta: keepNumbers({ ...meta, [filesKey]: all }, meta) }, result);
}
