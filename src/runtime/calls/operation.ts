/** The operations behind a dispatched request: tool calls, and reads of resources and prompts. */

import { printableLine } from '../../domain/data/printable.ts';
import type { ToolPin } from '../../domain/host/approval.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { ToolResult } from '../../domain/tool.ts';
import { pinKey } from '../../policies/approvals/records.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { Subject } from '../errors/failed.ts';
import { changedOffer } from '../errors/refused.ts';
import type { ServerView } from '../status/board.ts';
import type { Approvals } from '../user/approvals.ts';
import { findTool, type ToolAddress } from './tool-address.ts';

export interface Operation<Result> {
  readonly server: string;
  /** A tool call's arguments, which may need a permission. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** The server's own name for the tool of a tool call; undefined until it is known. */
  readonly tool: string | undefined;
  /** Finds the request's subject once the server is ready; throws if it does not exist. */
  find(view: ServerView): Subject;
  /** Sends the request about the subject that was found last. */
  perform(
    handle: SessionHandle,
    options: SessionCallOptions,
  ): Promise<{ readonly result: Result } | { readonly failure: CallFailure }>;
}

export class ToolOperation implements Operation<ToolResult> {
  readonly server: string;
  readonly args: Readonly<Record<string, unknown>>;
  tool: string | undefined;
  readonly #address: ToolAddress;
  readonly #tools: ToolList;

  constructor(address: ToolAddress, args: Readonly<Record<string, unknown>>, tools: ToolList) {
    this.server = address.server;
    this.args = args;
    this.tool = 'tool' in address ? address.tool : tools.named(address.exposedName)?.tool;
    this.#address = address;
    this.#tools = tools;
  }

  find(view: ServerView): Subject {
    const shown = findTool(this.#address, view, this.#tools);
    const { tool } = shown;
    this.tool = tool;
    return { tool, words: tool, shown };
  }

  perform(handle: SessionHandle, options: SessionCallOptions) {
    return handle.callTool(this.tool as string, this.args, options);
  }
}

export function requestOperation(
  server: string,
  request: SessionRequest,
  approvals: Pick<Approvals, 'heldOffers'>,
): Operation<Readonly<Record<string, unknown>>> {
  const { words, ...pinned } = meantBy(request);
  const about: Subject = { words: printableLine(words, wordsLength), kind: pinned.kind };
  return {
    server,
    tool: undefined,
    find: ({ desired }) => {
      if (approvals.heldOffers(desired).has(pinKey(pinned)))
        throw changedOffer(server, about.words);
      return about;
    },
    perform: (handle, options) => handle.request(request, options),
  };
}

// An address may be long, and the caller already knows it.
const wordsLength = 128;

/** Returns the definition that a request refers to, and a description of the request. */
function meantBy({ kind, params }: SessionRequest): Pick<ToolPin, 'kind' | 'tool'> & {
  readonly words: string;
} {
  switch (kind) {
    case 'readResource':
      return { kind: 'resource', tool: params.uri, words: `resource ${params.uri}` };
    case 'getPrompt':
      return { kind: 'prompt', tool: params.name, words: `prompt ${params.name}` };
    case 'complete': {
      const { ref, argument } = params;
      const words = `completion of ${argument.name}`;
      return ref.type === 'ref/prompt'
        ? { kind: 'prompt', tool: ref.name, words }
        : { kind: 'resourceTemplate', tool: ref.uri, words };
    }
  }
}
