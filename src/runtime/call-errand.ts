/** What is to be done at a server: the one thing in which a call of a tool and a read differ. */

import type {
  CallFailure,
  SessionCallOptions,
  SessionHandle,
  SessionRequest,
} from '../domain/session.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import { printableLine } from '../policies/printable.ts';
import { isSameTool } from '../policies/tool-pins.ts';
import type { Subject } from './call-error.ts';
import { changedTool, toolChangedSince } from './call-refusal.ts';
import type { Sighting } from './status-board.ts';
import type { ToolList } from './tool-list.ts';
import { unknownTool } from './unknown-name.ts';

/**
 * Which tool is meant: a server's own name for it, and how it must look if that matters,
 * or an exposed name yet to be found.
 */
export type ToolAddress =
  | { readonly server: string; readonly tool: string; readonly shown?: ExposedTool }
  | { readonly server: string; readonly exposedName: string };

export type Answer<Result> = { readonly result: Result } | { readonly failure: CallFailure };

export interface Errand<Result, About extends Subject> {
  readonly server: string;
  /** Whose deadline counts, as far as it is known yet. */
  readonly toolAtEntry: () => string | undefined;
  /** Names what is asked for, once the server is ready; throws when there is no such thing. */
  readonly find: (sighting: Sighting) => About;
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

export function toolErrand(
  address: ToolAddress,
  args: Readonly<Record<string, unknown>>,
  tools: ToolList,
): Errand<ToolResult, ToolSubject> {
  return {
    server: address.server,
    toolAtEntry: () => ('tool' in address ? address.tool : tools.named(address.exposedName)?.tool),
    find: (sighting) => {
      const shown = findTool(address, sighting, tools);
      return { tool: shown.tool, words: shown.tool, shown };
    },
    perform: (handle, { tool }, options) => handle.callTool(tool, args, options),
  };
}

export function requestErrand(
  server: string,
  request: SessionRequest,
): Errand<Readonly<Record<string, unknown>>, Subject> {
  const about: Subject = { words: wordsFor(request) };
  return {
    server,
    toolAtEntry: () => undefined,
    find: () => about,
    perform: (handle, _about, options) => handle.request(request, options),
  };
}

/** @throws TroupeError when the server shows no such tool, or another than was meant. */
function findTool(address: ToolAddress, sighting: Sighting, tools: ToolList): ExposedTool {
  const { name: server } = sighting.status;
  if ('exposedName' in address) {
    const { exposedName } = address;
    const known = tools.named(exposedName);
    if (known?.server === address.server) return known;
    if (tools.isHeld(sighting, exposedName)) throw changedTool(server, exposedName);
    throw unknownTool(exposedName, tools.all());
  }
  const shown = tools.of(server);
  const present = shown.find(({ tool }) => tool === address.tool);
  if (present !== undefined) {
    if (address.shown !== undefined && !isSameTool(address.shown, present)) {
      throw toolChangedSince(address.shown);
    }
    return present;
  }
  if (tools.isHeld(sighting, address.tool)) throw changedTool(server, address.tool);
  throw unknownTool(
    address.tool,
    shown.map(({ tool }) => ({ name: tool })),
    server,
  );
}

// An address may be long, and who asked knows it.
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
