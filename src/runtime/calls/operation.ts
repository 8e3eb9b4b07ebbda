/** What a dispatched request does once its server is ready, and the requests that call no tool. */

import { printableLine } from '../../domain/data/printable.ts';
import type { ToolPin } from '../../domain/host/approval.ts';
import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { pinKey } from '../../policies/approvals/records.ts';
import type { CallKind } from '../../protocol/methods.ts';
import type { Subject } from '../errors/failed.ts';
import { changedOffer } from '../errors/refused.ts';

export interface Operation<Result> {
  readonly server: string;
  readonly kind: CallKind;
  /** What is sent: a tool call's arguments, or the parameters of another request. */
  readonly params: unknown;
  /** A tool call's arguments, which hooks may change and which may need a permission. */
  args?: Readonly<Record<string, unknown>>;
  /** The server's own name for the tool of a tool call; undefined until it is known. */
  readonly tool: string | undefined;
  /** The same tool's name as its caller sees it, which a view may have changed. */
  readonly shownTool?: string | undefined;
  /** The name by which a tool was called. */
  readonly calledAs?: string;
  /** Finds the request's subject once the server is ready; throws if it does not exist. */
  find(desired: DesiredServer): Subject;
  /** Sends the request about the subject that was found last. */
  perform(
    handle: SessionHandle,
    options: SessionCallOptions,
  ): Promise<{ readonly result: Result } | { readonly failure: CallFailure }>;
}

export function requestOperation(
  server: string,
  request: SessionRequest,
  approvals: { readonly heldOffers: (desired: DesiredServer) => ReadonlySet<string> },
  view?: { readonly refuseRequest: (server: string, request: SessionRequest) => void },
): Operation<Readonly<Record<string, unknown>>> {
  const { words, ...pinned } = meantBy(request);
  const about: Subject = { words: printableLine(words, wordsLength), kind: pinned.kind };
  return {
    server,
    kind: request.kind,
    params: request.params,
    tool: undefined,
    find: (desired) => {
      view?.refuseRequest(server, request);
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
