/** The state of the page. Views are notified at most once per frame. */

import { useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import type { ComparisonView } from '../../../src/domain/host/comparison.ts';
import type {
  ActorKey,
  ForkView,
  InspectionSession,
  WayView,
} from '../../../src/domain/host/inspection.ts';
import type { Question } from '../../../src/domain/question.ts';
import type { ChartFacts } from '../model/chart-facts.ts';
import type { FleetChoice } from '../model/fleet-list.ts';
import { History } from '../model/history.ts';
import type { Route } from '../model/route.ts';
import { type World, worldOf } from '../model/world.ts';

/** The state of the connection to the troupe. */
export type Link = 'loading' | 'live' | 'replay' | 'lost' | 'ended' | 'refused';

export interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

export interface PageState {
  readonly link: Link;
  readonly session: InspectionSession | undefined;
  readonly history: History;
  /** The world at the newest record. */
  readonly live: World;
  /** The shown world: the live one, or that of the chosen moment. */
  readonly world: World;
  /** Counts changes of `world`, which is changed in place while it is the live one. */
  readonly revision: number;
  readonly route: Route;
  readonly facts: ChartFacts | undefined;
  readonly fleet: FleetChoice;
  /** Addresses of logins that this page started and that wait for the browser. */
  readonly addresses: ReadonlyMap<ActorKey, LoginAddress>;
  readonly toasts: readonly Toast[];
  readonly dialog: Dialog | undefined;
  /** The panel beside the view. */
  readonly panel: PanelChoice;
  /** Whether charts show everything, or an overview. */
  readonly isDetailed: boolean;
  /** Whether charts show which transitions were taken in the recording. */
  readonly isCovering: boolean;
  /** The open questions of servers; none while the page cannot answer. */
  readonly questions: readonly Question[];
  /** Whether the older records are still being read. */
  readonly filling: boolean;
  /** Whether the panel for forks is open. */
  readonly whatIf: boolean;
  /** The current fork. */
  readonly fork: ForkView | undefined;
  /** Both journals at their first difference, in a replay that compares two. */
  readonly comparison: ComparisonView | undefined;
  /** Whether the panel for the comparison is open. */
  readonly isComparing: boolean;
  /** The way to a state, while its panel is open. */
  readonly way: WayChoice | undefined;
}

export interface PanelChoice {
  /** Whether it is hidden although a server is chosen. */
  readonly isHidden: boolean;
  /** In pixels, if the user changed it. */
  readonly width?: number;
}

/** The way to a state that the user asked for. */
export interface WayChoice {
  readonly actor: string;
  /** Undefined until the user chooses a state. */
  readonly to?: string;
  /** Undefined during the search. */
  readonly found?: WayView;
  readonly problem?: string;
  /** Place of the step that is shown alone. */
  readonly step?: number;
}

export interface LoginAddress {
  readonly url: URL;
  /** The last record before the login waited for the browser. */
  readonly after: number;
  /** What the user should know before logging in. */
  readonly note?: string | undefined;
}

export type Dialog =
  | { readonly kind: 'help' }
  | { readonly kind: 'plan' }
  | { readonly kind: 'questions' }
  | {
      readonly kind: 'decision';
      readonly server: string;
      readonly decision: 'approve' | 'reject' | 'revoke';
    };

const nothing = { n: 0, t: 0, actors: [], servers: [] };
const noWorld = worldOf(nothing);

let state: PageState = {
  link: 'loading',
  session: undefined,
  history: new History(nothing),
  live: noWorld,
  world: noWorld,
  revision: 0,
  route: { view: 'fleet' },
  facts: undefined,
  fleet: { text: '', states: [], grouped: false, order: 'state' },
  addresses: new Map(),
  toasts: [],
  dialog: undefined,
  panel: { isHidden: false },
  isDetailed: false,
  isCovering: false,
  questions: [],
  filling: false,
  whatIf: false,
  fork: undefined,
  comparison: undefined,
  isComparing: false,
  way: undefined,
};

const listeners = new Set<() => void>();
let isPending = false;

export function current(): PageState {
  return state;
}

export function change(part: Partial<PageState>): void {
  state = { ...state, ...part };
  if (isPending) return;
  isPending = true;
  requestAnimationFrame(() => {
    isPending = false;
    for (const listener of [...listeners]) listener();
  });
}

/** Selects a part of the state, and redraws the view when that part changes. */
export function usePage<Part>(select: (state: PageState) => Part): Part {
  const part = select(state);
  const latest = useRef({ select, part });
  latest.current = { select, part };
  const [, redraw] = useReducer<number, undefined>((count) => count + 1, 0);
  useLayoutEffect(() => {
    const look = (): void => {
      if (!Object.is(latest.current.select(state), latest.current.part)) redraw(undefined);
    };
    listeners.add(look);
    look();
    return () => {
      listeners.delete(look);
    };
  }, []);
  return part;
}

/** Why no action is available now. */
export function offReason({ link, route }: PageState): string | undefined {
  if (link === 'replay') return 'A recorded journal allows no actions.';
  if (link !== 'live') return 'Not connected to the troupe.';
  return route.at === undefined ? undefined : 'The past cannot be changed. Go back to now first.';
}

export function canAct(shown: PageState): boolean {
  return offReason(shown) === undefined;
}

let toastCount = 0;

/** Shows the outcome of an action for some seconds. */
export function toast(tone: Toast['tone'], text: string): void {
  toastCount += 1;
  const id = toastCount;
  change({ toasts: [...state.toasts.slice(-3), { id, tone, text }] });
  setTimeout(() => dismiss(id), tone === 'bad' ? 12_000 : 5_000);
}

export function dismiss(id: number): void {
  change({ toasts: state.toasts.filter((each) => each.id !== id) });
}
