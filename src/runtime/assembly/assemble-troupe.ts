/** Implements the public `Troupe` on top of its services, from start to stop. */

import type { HostEvent } from '../../domain/host/event.ts';
import type {
  MemoryUse,
  ServerStatus,
  ServerUsage,
  SessionCount,
  TroupeSnapshot,
} from '../../domain/host/status.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { version } from '../../domain/version.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import { settingsReportOf } from '../../settings/settings-report.ts';
import { RecordedInspection } from '../inspection.ts';
import {
  checkHostEvent,
  checkListener,
  checkName,
  checkState,
  checkStop,
  isAnotherTry,
} from '../options/check.ts';
import { explainedPlan } from '../previews/explained-plan.ts';
import type { TroupeParts } from '../root-actor.ts';
import type { ServerView } from '../status/board.ts';
import { allStatuses, serverHandle, streamable } from '../status/streams.ts';
import type { StopReport, Troupe, TroupeOptions, WaitOptions } from '../troupe.ts';
import { isApprovalOrder } from '../user/approvals.ts';
import type { OpenView } from '../views/open-view.ts';
import {
  afterFirstPass,
  isReadyAgain,
  presentStatus,
  waitForRequired,
  waitForStatus,
} from '../waits/for-status.ts';
import { TroupeEnd } from './ending.ts';
import { listedAgain, waitUntilListed } from './list-refresh.ts';
import { loginRequests } from './login-requests.ts';
import { viewRequests } from './narrowed.ts';
import { offers, requests } from './server-requests.ts';
import { createServices, type Services } from './services.ts';

export type { TroupeParts } from '../root-actor.ts';

export function assembleTroupe(options: TroupeOptions, parts: TroupeParts): Troupe {
  const services = createServices(options, parts, assembleTroupe);
  const { board, root, listeners } = services;
  const offersOf = (view: OpenView) => ({ ...offers(services, view), ...requests(services, view) });
  const snapshotOf = (servers: readonly ServerStatus[]) => snapshotFor(services, servers);
  const snapshot = () => snapshotOf(board.statuses());
  const inspection = new RecordedInspection(options, { ...parts, root, listeners, snapshot });
  services.logins.follow((login, facts) => inspection.noteLogin(login, facts));
  const end = new TroupeEnd(services, inspection);
  const seen = observers(services);
  const ordered = orders(services, end);
  const methods = {
    inspection,
    snapshot,
    ...seen,
    ...offers(services),
    ...requests(services),
    ...ordered,
    ...viewRequests(services, { ...seen, ...ordered, snapshotOf, offersOf }),
  };
  const troupe = streamable(methods, allStatuses(board, parts.report));
  root.start();
  return troupe;
}

/** Creates the methods that show servers and wait for them. */
function observers(services: Services) {
  const { parts, root, board, book, listeners, progress, records, approvals, questions, reader } =
    services;
  const { clock, report } = parts;
  return {
    ready: () => progress.ready,
    required: async () => {
      if (!progress.hasReadSettings()) await afterFirstPass(services);
      return waitForRequired({
        board,
        clock,
        servers: book.settings?.servers ?? [],
        since: progress.firstPassAt(),
        isOver: () => progress.isOver(),
      });
    },
    listed: (list, options) => waitUntilListed(services, list, options),
    status: (server) => board.status(server),
    usage: () => usageOf(services),
    server: (name) => serverHandle(name, board, report),
    explain: (server) => records.explain(server, services, root.getSnapshot()),
    logs: (server) => records.logs(server) ?? (board.status(server) === undefined ? undefined : []),
    plan: async () => {
      await services.docker?.settled();
      const { settings } = await reader.read(clock.now());
      return explainedPlan({ ...root.getSnapshot().context, settings });
    },
    checkSettings: async () => {
      await services.docker?.settled();
      const { settings, files } = await reader.read(clock.now());
      return settingsReportOf(settings, files);
    },
    approvals: (server) => approvals.requests(server),
    approvalsSaved: () => approvals.saved(),
    questions: () => questions.list(),
    permissions: () => services.calls.permissions.store.choices(),
    forgetPermissions: (which = {}) => services.calls.permissions.store.forget(which),
    on: (name, listener) => {
      checkListener(name, listener);
      return listeners.on(name, listener);
    },
  } satisfies Partial<Troupe>;
}

/** Creates the function that waits for a status; a removal ends it, unless the server may be added later. */
function waits({ parts: { clock }, root, board, progress, absentError }: Services) {
  return (
    server: string,
    wanted: string,
    options: WaitOptions,
    matches: (status: ServerStatus, view: ServerView) => boolean,
    mayComeLater = false,
  ): Promise<ServerStatus> => {
    const answer = (view: ServerView | undefined): ServerStatus | undefined => {
      // A removed server may still be closing.
      const isRemoved = root.getSnapshot().context.removed.includes(server);
      if (isRemoved && !mayComeLater) throw absentError(server);
      return presentStatus(view, matches);
    };
    const isOver = (): boolean => progress.isOver();
    return waitForStatus({ board, clock, server, wanted, isOver, answer }, options);
  };
}

/** Creates the methods that change servers, and the end of the troupe. */
function orders(services: Services, end: TroupeEnd) {
  const { parts, root, board, calls, progress, approvals, questions, values, added } = services;
  const { clients } = services;
  const { clock } = parts;
  const refuseWhenOver = (): void => {
    if (progress.isOver())
      throw new TroupeError('SHUTTING_DOWN', 'The troupe has stopped. Create a new one.');
  };
  const send = (event: HostEvent): void => {
    const order = checkHostEvent(event);
    // Commands for unknown servers are rejected immediately.
    const desired = 'server' in order ? desiredNamed(order.server, services) : undefined;
    if (isApprovalOrder(order)) approvals.refuseOutdated(order, desired as DesiredServer);
    const isEnd = order.type === 'troupe.stop' || order.type === 'troupe.kill';
    if (isEnd) end.begin(order.type === 'troupe.kill');
    else refuseWhenOver();
    if (isAnotherTry(order)) values.askAgain();
    if (progress.isOver()) return;
    progress.during(() => {
      if (order.type === 'server.restart') clients.leases.renew(order.server);
      if (isAnotherTry(order) && desired !== undefined) approvals.readAgain(desired);
      if (order.type === 'roots.changed') return questions.roots.set(order.roots);
      if (order.type === 'plugins.changed') return services.setPlugins(order.plugins);
      if (!isApprovalOrder(order)) return root.send(order);
      approvals.decide(order, desired as DesiredServer, (it) => root.send(it));
    });
  };
  const wait = waits(services);
  type StopOptions = Parameters<Troupe['stop']>[0];
  function stop(): Promise<void>;
  function stop(options: StopOptions): Promise<StopReport>;
  async function stop(options: StopOptions = {}): Promise<unknown> {
    checkStop(options);
    const { graceMs = 0, force = false } = options;
    if (graceMs > 0 && !end.hasBegun)
      await Promise.all([calls.finish(clock.now() + graceMs), clients.stop(options)]);
    if (!progress.isOver()) send({ type: force ? 'troupe.kill' : 'troupe.stop' });
    return end.report;
  }
  return {
    send,
    openClient: (own) => {
      refuseWhenOver();
      if (end.hasBegun) throw new TroupeError('SHUTTING_DOWN', 'The troupe is stopping.');
      return clients.open(own);
    },
    addServer: (name, settings) => {
      refuseWhenOver();
      added.add(name, settings);
    },
    removeServer: (name) => {
      refuseWhenOver();
      added.remove(name);
    },
    answer: (id, answer) => {
      checkName('id of the question', id);
      questions.answer(id, answer);
    },
    waitFor: async (server, state, options = {}) => {
      checkState(state);
      return wait(
        server,
        state,
        options,
        ({ state: present }) => present === state || (state === 'ready' && isUsable(present)),
        true,
      );
    },
    ...loginRequests(services, { send, wait, clock }),
    refresh: async (server, options = {}) =>
      listedAgain(services, server, () => send({ type: 'server.refresh', server }), options),
    restartAndWait: async (server, options = {}) => {
      const before = board.view(server);
      send({ type: 'server.restart', server });
      return wait(server, 'ready again', options, (_, it) => isReadyAgain(it, before));
    },
    stop,
    [Symbol.asyncDispose]: () => stop(),
  } satisfies Partial<Troupe>;
}

function snapshotFor(
  { progress, budget, problems, clients }: Services,
  servers: readonly ServerStatus[],
): TroupeSnapshot {
  const open = clients.list();
  return {
    troupe: {
      pid: process.pid,
      version,
      ...progress.status(),
      sessions: countSessions(servers),
      ...(budget.use === undefined ? {} : { budget: budget.use }),
      ...(open.length > 0 && { clients: open }),
      problems: problems.all(),
    },
    servers,
  };
}

/** A server has several processes while a successor starts or a predecessor finishes its calls. */
async function usageOf({ board, calls, parts }: Services): Promise<readonly ServerUsage[]> {
  const servers = board.statuses().map(({ name, pid, successor, predecessor }) => ({
    name,
    pids: [pid, successor?.pid, predecessor?.pid].filter((each) => each !== undefined),
  }));
  const memory = await parts.readMemory?.(servers.flatMap(({ pids }) => pids));
  return servers.map(({ name, pids }) => {
    const uses = pids.flatMap((pid) => memory?.get(pid) ?? []);
    return {
      server: name,
      calls: calls.countOf(name),
      ...(uses.length === 0 ? {} : { memory: uses.reduce(sumOf) }),
    };
  });
}

function sumOf(one: MemoryUse, other: MemoryUse): MemoryUse {
  return {
    bytes: one.bytes + other.bytes,
    processCount: one.processCount + other.processCount,
  };
}

/** @throws TroupeError with the reason why there is no such server */
function desiredNamed(server: string, { book, absentError }: Services): DesiredServer {
  const desired = serverNamed(book.settings, server);
  if (desired === undefined) throw absentError(server);
  return desired;
}

export function countSessions(
  statuses: readonly Pick<ServerStatus, 'state' | 'transport' | 'pid'>[],
): SessionCount {
  const byTransport: Record<TransportKind, number> = {
    stdio: 0,
    http: 0,
    sse: 0,
    ws: 0,
    memory: 0,
  };
  let total = 0;
  let subprocessCount = 0;
  for (const { state, transport, pid } of statuses) {
    if (pid !== undefined) subprocessCount += 1;
    if (state !== 'loadingTools' && !isUsable(state)) continue;
    byTransport[transport] += 1;
    total += 1;
  }
  return { total, byTransport, subprocessCount };
}
