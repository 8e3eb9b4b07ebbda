/** The methods and events of a view: those of the troupe, about what the view shows. */

import { grouped } from '../../domain/data/grouped.ts';
import type { TroupeEventName, TroupeEvents } from '../../domain/host/event.ts';
import type { ServerStatus, TroupeSnapshot } from '../../domain/host/status.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { equalData } from '../../policies/equal-data.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { originOf } from '../../policies/tools/announced.ts';
import { viewsOf } from '../../policies/views/client-views.ts';
import { showsResource } from '../../policies/views/shown-items.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { callListener } from '../listeners.ts';
import { checkListener, checkName } from '../options/check.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { StatusBoard } from '../status/board.ts';
import type { Troupe } from '../troupe.ts';
import { OpenView } from '../views/open-view.ts';
import type { FirstPassPorts } from '../waits/for-status.ts';
import { waitUntilListed } from './list-refresh.ts';

interface ViewPorts extends FirstPassPorts, Pick<SharedPorts, 'book' | 'listeners'> {
  readonly parts: SharedPorts['parts'];
  readonly board: StatusBoard;
  readonly catalogs: Catalogs;
}

/** The methods of a troupe on which those of its views build. */
interface Whole extends Pick<Troupe, 'ready' | 'explain' | 'login'> {
  readonly snapshotOf: (servers: readonly ServerStatus[]) => TroupeSnapshot;
  /** The methods that list and call what a view shows. */
  readonly offersOf: (view: OpenView) => Omit<View, keyof Watching>;
}

type View = ReturnType<Troupe['view']>;
type Watching = Pick<View, 'ready' | 'listed' | 'snapshot' | 'status' | 'explain' | 'login' | 'on'>;

/** Creates the methods of a troupe that list and open its views. */
export function viewRequests(services: ViewPorts, whole: Whole) {
  const { book, progress } = services;
  const names = () => book.settings?.views?.map(({ name }) => name) ?? [];
  return {
    views: (claims) => {
      const { settings } = book;
      if (claims === undefined) return names();
      // Rules that are not known yet may open less than those that are.
      if (!progress.hasReadSettings() || settings?.isPartial === true) return [];
      return viewsOf(settings?.views ?? [], claims);
    },
    view: (name, { template } = {}) => {
      checkName('name of the view', name);
      if (progress.hasReadSettings() && !names().includes(name)) {
        const hint = nameHint(name, names(), 'Add it to "mcp": { "views": { … } }.');
        throw argumentsError(`There is no view ${name} in the settings. ${hint}`);
      }
      return narrowed(services, whole, new OpenView(name, template, services));
    },
  } satisfies Partial<Troupe>;
}

function narrowed(
  services: ViewPorts,
  { explain, login, ready, snapshotOf, offersOf }: Whole,
  view: OpenView,
): View {
  const { board } = services;
  const { shows } = view;
  /** Without texts that may name what the view leaves out. */
  const statusOf = ({ toolNotes: _notes, ...status }: ServerStatus): ServerStatus => ({
    ...status,
    tools: view.tools.of(status.name).length,
  });
  return {
    ...offersOf(view),
    ...viewEvents(view, statusOf, services),
    ready: async () => {
      const report = await ready();
      return {
        ...report,
        live: report.live.filter(shows),
        deferred: report.deferred.filter(shows),
        pending: report.pending.filter(shows),
        failed: report.failed.filter(({ name }) => shows(name)),
      };
    },
    listed: (list, options) => waitUntilListed(services, list, options, shows),
    snapshot: () => {
      const shown = board.statuses().filter(({ name }) => shows(name));
      const { troupe, servers } = snapshotOf(shown.map(statusOf));
      const { budget: _budget, clients: _clients, ...rest } = troupe;
      return { troupe: { ...rest, problems: [] }, servers };
    },
    status: (server) => {
      const status = shows(server) ? board.status(server) : undefined;
      return status && statusOf(status);
    },
    explain: (server) => {
      const whole = shows(server) ? explain(server) : undefined;
      if (whole === undefined) return undefined;
      const { queue, status, sharedWith: _clients, ...others } = whole;
      const place = queue && { queue: { ...queue, heldBy: queue.heldBy.filter(shows) } };
      return { ...others, status: statusOf(status), ...place };
    },
    login: async (server, options) => {
      view.refuseServer(server);
      return login(server, options);
    },
  };
}

type Items = readonly { readonly server: string }[];

/** The lists whose changes are reported, by event. */
const lists: { readonly [Name in TroupeEventName]?: (view: OpenView) => Items } = {
  'tools.changed': (view) => view.tools.all(),
  'prompts.changed': (view) => view.lists().prompts,
  'resources.changed': (view) => [...view.lists().resources, ...view.lists().resourceTemplates],
};

/** Returns an event as a view shows it; undefined if it does not. */
type Show = { readonly [Name in TroupeEventName]?: (event: TroupeEvents[Name]) => unknown };

function viewEvents(
  view: OpenView,
  statusOf: (status: ServerStatus) => ServerStatus,
  ports: ViewPorts,
): Pick<Troupe, 'on'> {
  const ifShown = <Event extends { readonly server: string }>(event: Event) =>
    view.shows(event.server) ? event : undefined;
  const show: Show = {
    'status.changed': ({ status }) =>
      view.shows(status.name) ? { status: statusOf(status) } : undefined,
    'resource.updated': (event) =>
      showsResource(view.settings, event.server, event.uri) ? event : undefined,
    notification: ifShown,
    'auth.needed': ifShown,
    'auth.started': ifShown,
    reconciled: (event) => ({ ...event, plan: event.plan.filter((it) => view.shows(it.server)) }),
  };
  return {
    on: (name, listener) => {
      checkListener(name, listener);
      const emit = (event: unknown): void => listener(event as TroupeEvents[typeof name]);
      if (lists[name] !== undefined) return followList(name, lists[name], emit, view, ports);
      const shown = show[name];
      if (shown === undefined) {
        const known = [...Object.keys(lists), ...Object.keys(show)].join(', ');
        throw argumentsError(`A view has no event "${name}". It has: ${known}.`);
      }
      return ports.listeners.on(name, (event) => {
        const own = shown(event);
        if (own !== undefined) emit(own);
      });
    },
  };
}

/** Compares a list with the last one whenever those of servers or the settings of the view change. */
function followList(
  name: TroupeEventName,
  itemsOf: (view: OpenView) => Items,
  emit: (event: unknown) => void,
  view: OpenView,
  { root, listeners, parts }: ViewPorts,
): () => void {
  const listed = () => grouped(itemsOf(view).map((item) => [item.server, item]));
  let before = listed();
  let { settings } = view;
  const onThrow = (error: unknown): void => parts.report(`A listener of "${name}" threw.`, error);
  const look = (): void => {
    const now = listed();
    const servers = [...new Set([...before.keys(), ...now.keys()])]
      .filter((server) => !isSame(before.get(server), now.get(server)))
      .sort();
    before = now;
    const events = name === 'tools.changed' ? [{ servers }] : servers.map((server) => ({ server }));
    if (servers.length > 0) for (const event of events) callListener(() => emit(event), onThrow);
  };
  const end = listeners.on(name, look);
  const next = (): void => {
    if (view.settings === settings) return;
    settings = view.settings;
    look();
  };
  // Its error is reported where the troupe ends.
  const watch = root.subscribe({ next, error: () => undefined });
  return () => {
    end();
    watch.unsubscribe();
  };
}

function isSame(some: Items | undefined, others: Items | undefined): boolean {
  return equalData(some, others) && equalData(some?.map(originOf), others?.map(originOf));
}
