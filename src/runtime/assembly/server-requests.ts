import { started } from '../../../actors/host/open-telemetry.ts';
import type { CompletionResult, PromptResult, ResourceResult } from '../../domain/catalog.ts';
import type { SessionRequest } from '../../domain/session.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import type { CallKind } from '../../protocol/methods.ts';
import type { CallEntry } from '../calls/call.ts';
import type { CallDispatcher } from '../calls/dispatcher.ts';
import { addressOf } from '../calls/tool-address.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { DesiredBook } from '../desired/book.ts';
import { unknownTool } from '../errors/refused.ts';
import { checkLimit, checkLogLevel, checkName } from '../options/check.ts';
import type { StatusBoard } from '../status/board.ts';
import type { ProblemList } from '../status/problems.ts';
import type { CallOptions, CallReport, RequestReport, Troupe } from '../troupe.ts';
import type { OpenView } from '../views/open-view.ts';
import { afterFirstPass, type FirstPassPorts } from '../waits/for-status.ts';

interface OfferPorts extends FirstPassPorts {
  readonly book: DesiredBook;
  readonly catalogs: Catalogs;
  readonly absentError: (server: string) => TroupeError;
}

interface RequestPorts extends FirstPassPorts {
  readonly book: DesiredBook;
  readonly calls: CallDispatcher;
  readonly catalogs: Catalogs;
  readonly board: StatusBoard;
  readonly problems: ProblemList;
}

/** Creates the methods of a troupe, or of a view of it, that show what servers offer. */
export function offers({ book, catalogs, progress, absentError }: OfferPorts, view?: OpenView) {
  const names = view ?? catalogs;
  const lists = () => view?.lists() ?? catalogs.offers.lists();
  return {
    tools: () => names.tools.all(),
    searchTools: (query, { limit = 10 } = {}) => {
      checkName('query', query);
      checkLimit(limit);
      return names.tools.search(query, limit);
    },
    resources: () => lists().resources,
    resourceTemplates: () => lists().resourceTemplates,
    prompts: () => lists().prompts,
    instructions: () => lists().instructions,
    profile: (server) => (view?.shows(server) === false ? undefined : catalogs.profileOf(server)),
    subscribe: (server, uri) => {
      checkName('name of the server', server);
      checkName('address of the resource', uri);
      view?.refuseRequest(server, { kind: 'readResource', params: { uri } });
      const isKnown = serverNamed(book.settings, server) !== undefined;
      if (progress.hasReadSettings() && !isKnown) throw absentError(server);
      return catalogs.watched.add(server, uri);
    },
    wantLogs: (level) => {
      checkLogLevel(level);
      return catalogs.logs.add(level);
    },
  } satisfies Partial<Troupe>;
}

/** Creates the methods of a troupe, or of a view of it, that send requests to servers. */
export function requests(services: RequestPorts, view?: OpenView) {
  const { calls, catalogs, parts, progress } = services;

  /** Sends the call once the settings have been read. */
  const begin = <Report>(entry: CallEntry, send: (entry: CallEntry) => Promise<Report>) => {
    if (progress.hasReadSettings()) return send(entry);
    const { deadlineAt, options } = entry;
    const { signal } = options;
    return afterFirstPass(services, { signal, deadlineAt }).then(() => send(entry));
  };

  /** Sends the call, observed by telemetry if there is any. */
  const run = <Report extends CallReport | RequestReport<unknown>>(
    kind: CallKind,
    options: CallOptions,
    send: (entry: CallEntry) => Promise<Report>,
  ): Promise<Report> => {
    const { timeoutMs } = options;
    const deadlineAt = timeoutMs === undefined ? undefined : parts.clock.now() + timeoutMs;
    if (calls.telemetry === undefined)
      return begin({ options, deadlineAt, watch: undefined, view }, send);
    return calls.telemetry.during(kind, options, (watch) =>
      started(() => begin({ options, deadlineAt, watch, view }, send)),
    );
  };

  const ask = <Result>(
    server: string,
    request: SessionRequest,
    options: CallOptions = {},
  ): Promise<RequestReport<Result>> =>
    started(() => {
      checkName('name of the server', server);
      return run(request.kind, options, (entry) => calls.ask<Result>(server, request, entry));
    });

  return {
    catalog: () => {
      const tools = (view ?? catalogs).tools.all();
      return {
        tools,
        async callTool(name, args = {}, options = {}) {
          checkName('name of the tool', name);
          const shown = tools.find((tool) => tool.name === name);
          if (shown === undefined) throw unknownTool(name, tools);
          const { server, tool } = shown;
          return run('callTool', options, (entry) =>
            calls.call({ server, tool, shown }, args, entry),
          );
        },
      };
    },
    callTool: (name, args = {}, options = {}) =>
      started(() => {
        checkName('name of the tool', name);
        return run('callTool', options, (entry) =>
          calls.call(view?.addressOf(name) ?? addressOfTool(services, name), args, entry),
        );
      }),
    callServerTool: (server, tool, args = {}, options = {}) =>
      started(() => {
        checkName('name of the server', server);
        checkName('name of the tool', tool);
        return run('callTool', options, (entry) => calls.call({ server, tool }, args, entry));
      }),
    readResource: async (server, uri, options) => {
      checkName('address of the resource', uri);
      return ask<ResourceResult>(server, { kind: 'readResource', params: { uri } }, options);
    },
    getPrompt: async (server, name, args, options) => {
      checkName('name of the prompt', name);
      const params = { name, ...(args === undefined ? {} : { arguments: args }) };
      return ask<PromptResult>(server, { kind: 'getPrompt', params }, options);
    },
    complete: (server, params, options) =>
      ask<CompletionResult>(server, { kind: 'complete', params }, options),
    backgroundServers: () =>
      calls.backgroundServers().filter((server) => view?.shows(server) !== false),
    backgroundCalls: () => calls.background.list(view),
    collect: async (id, options = {}) => {
      checkName('id of the call', id);
      return calls.background.collect(id, options, view);
    },
  } satisfies Partial<Troupe>;
}

/** Finds a tool's server, even while the server's tools are not known yet. */
function addressOfTool(
  { board, book, catalogs, problems, root }: RequestPorts,
  exposedName: string,
) {
  const namingOf = (server: string) => book.policyOf(server).naming;
  return addressOf(exposedName, catalogs.tools, board, namingOf, () => [
    ...root.getSnapshot().context.removed,
    ...problems.all().flatMap(({ server }) => server ?? []),
  ]);
}
