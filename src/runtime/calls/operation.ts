/** A request to a server: the part in which tool calls and reads differ. */

import type { ToolPin } from '../../domain/host/approval.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import { pinKey } from '../../policies/approvals/records.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { findTool, type ToolAddress } from '../catalog/tool-finding.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { Subject } from '../errors/call.ts';
import { changedOffer } from '../errors/call-refusal.ts';
import type { ServerView } from '../status/board.ts';

export type Answer<Result> = { readonly result: Result } | { readonly failure: CallFailure };

export interface Operation<Result, About extends Subject> {
  readonly server: string;
  /** The arguments of a tool call, which may need a permission. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** The tool whose deadline applies, if it is known yet. */
  readonly toolAtEntry: () => string | undefined;
  /** Finds the subject of the request once the server is ready; throws when it does not exist. */
  readonly find: (view: ServerView) => About;
  readonly perform: (
    handle: SessionHandle,
    about: About,
    options: SessionCallOptions,
  ) => Promise<Answer<Result>>;
}

/** A tool by its server's own name, as it is shown now. */
export interface ToolSubject extends Subject {
  readonly tool: string;
  readonly shown: ExposedTool;
}

export function toolOperation(
  address: ToolAddress,
  args: Readonly<Record<string, unknown>>,
  tools: ToolList,
): Operation<ToolResult, ToolSubject> {
  return {
    server: address.server,
    args,
    toolAtEntry: () => ('tool' in address ? address.tool : tools.named(address.exposedName)?.tool),
    find: (view) => {
      const shown = findTool(address, view, tools);
      return { tool: shown.tool, words: shown.tool, shown };
    },
    perform: (handle, { tool }, options) => handle.callTool(tool, args, options),
  };
}

/** Definitions other than tools that differ from what was approved, by `pinKey`. */
type HeldOffers = (desired: DesiredServer) => ReadonlySet<string>;

export function requestOperation(
  server: string,
  request: SessionRequest,
  heldOffers: HeldOffers,
): Operation<Readonly<Record<string, unknown>>, Subject> {
  const about: Subject = { words: wordsFor(request) };
  return {
    server,
    toolAtEntry: () => undefined,
    find: ({ desired }) => {
      const meant = meantBy(request);
      if (heldOffers(desired).has(pinKey(meant))) throw changedOffer(server, about.words);
      return about;
    },
    perform: (handle, _about, options) => handle.request(request, options),
  };
}

function meantBy(request: SessionRequest): Pick<ToolPin, 'kind' | 'tool'> {
  switch (request.method) {
    case 'resources/read':
      return { kind: 'resource', tool: request.params.uri };
    case 'prompts/get':
      return { kind: 'prompt', tool: request.params.name };
    case 'completion/complete': {
      const { ref } = request.params;
      return ref.type === 'ref/prompt'
        ? { kind: 'prompt', tool: ref.name }
        : { kind: 'resourceTemplate', tool: ref.uri };
    }
  }
}

// An address may be long, and the caller knows it.
const wordsLength = 128;

function wordsFor({ method, params }: SessionRequest): string {
  switch (method) {
    case 'resources/read':
      return printableLine(`resource ${params.uri}`, wordsLength);
    case 'prompts/get':
      return printableLine(`prompt ${params.name}`, wordsLength);
    case 'completion/complete':
      return printableLine(`completion of ${params.argument.name}`, wordsLength);
  }
}
