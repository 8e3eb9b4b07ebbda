/** The operations behind a dispatched request: tool calls, and reads of resources and prompts. */

import { printableLine } from '../../domain/data/printable.ts';
import type { ToolPin } from '../../domain/host/approval.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import { pinKey } from '../../policies/approvals/records.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { Subject } from '../errors/failed.ts';
import { changedOffer } from '../errors/refused.ts';
import type { ServerView } from '../status/board.ts';
import type { Approvals } from '../user/approvals.ts';
import { findTool, type ToolAddress } from './tool-address.ts';

export interface Operation<Result, About extends Subject> {
  readonly server: string;
  /** A tool call's arguments, which may need a permission. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Returns the tool whose deadline applies, if it is known yet. */
  toolAtEntry(): string | undefined;
  /** Finds the request's subject once the server is ready; throws if it does not exist. */
  find(view: ServerView): About;
  perform(
    handle: SessionHandle,
    about: About,
    options: SessionCallOptions,
  ): Promise<{ readonly result: Result } | { readonly failure: CallFailure }>;
}

/** A tool as it is currently shown. */
export interface ToolSubject extends Subject {
  readonly tool: string;
  readonly shown: ExposedTool;
}

export class ToolOperation implements Operation<ToolResult, ToolSubject> {
  readonly server: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly #address: ToolAddress;
  readonly #tools: ToolList;

  constructor(address: ToolAddress, args: Readonly<Record<string, unknown>>, tools: ToolList) {
    this.server = address.server;
    this.args = args;
    this.#address = address;
    this.#tools = tools;
  }

  toolAtEntry(): string | undefined {
    const address = this.#address;
    return 'tool' in address ? address.tool : this.#tools.named(address.exposedName)?.tool;
  }

  find(view: ServerView): ToolSubject {
    const shown = findTool(this.#address, view, this.#tools);
    return { tool: shown.tool, words: shown.tool, shown };
  }

  perform(handle: SessionHandle, { tool }: ToolSubject, options: SessionCallOptions) {
    return handle.callTool(tool, this.args, options);
  }
}

export function requestOperation(
  server: string,
  request: SessionRequest,
  approvals: Pick<Approvals, 'heldOffers'>,
): Operation<Readonly<Record<string, unknown>>, Subject> {
  const { words, ...pinned } = meantBy(request);
  const about: Subject = { words: printableLine(words, wordsLength), kind: pinned.kind };
  return {
    server,
    toolAtEntry: () => undefined,
    find: ({ desired }) => {
      if (approvals.heldOffers(desired).has(pinKey(pinned)))
        throw changedOffer(server, about.words);
      return about;
    },
    perform: (handle, _about, options) => handle.request(request, options),
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
