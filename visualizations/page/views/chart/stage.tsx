/** The picture with zoom and pan, highlighted states, animations and the explaining card. */

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PicturedActor, WayView } from '../../../../src/domain/host/inspection.ts';
import {
  type MachineFacts,
  type PictureFacts,
  sourceOf,
  transitionOfTimer,
} from '../../model/chart-facts.ts';
import { coverageOf, coveredIn } from '../../model/coverage.ts';
import { countdown } from '../../model/durations.ts';
import { isOnActivePath, type PictureScope } from '../../model/folding.ts';
import { afterTimer, litStates } from '../../model/lit-states.ts';
import { pathTo } from '../../model/path.ts';
import { shownLine } from '../../model/shown-text.ts';
import { now, useTicks } from '../../state/clock.ts';
import { usePage } from '../../state/store.ts';
import { findWay, openWay } from '../../state/way.ts';
import { ChartCard } from './card.tsx';
import { ChartDrawing, type Fold, type ShownTimer, type Target } from './drawing.ts';
import { Minimap } from './minimap.tsx';
import { StageTools, toggleCoverage, toggleDetails } from './stage-tools.tsx';
import { useStage } from './use-stage.ts';

interface ChartStageProps {
  readonly text: string;
  readonly picture: PictureFacts;
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly isFork: boolean;
  readonly scope: PictureScope;
  /** The parts that are unfolded in it. */
  readonly unfolded: readonly string[];
  readonly onFold: (path: string, isUnfolded: boolean) => void;
}

const toggles: Readonly<Record<string, () => void>> = { c: toggleCoverage, d: toggleDetails };

export function ChartStage(props: ChartStageProps) {
  const { text, picture, actor, machine, scope, isFork, unfolded, onFold } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Target>();
  const [pinned, setPinned] = useState<Target>();
  const drawing = useMemo(() => new ChartDrawing(text), [text]);
  const lit = useMemo(() => {
    const states = litStates(actor.leaves, new Set(drawing.states.keys()));
    const isWhole = picture.of === actor.machine;
    return isWhole ? { ...states, within: new Set([...states.within, picture.of]) } : states;
  }, [drawing, actor.leaves]);
  // Before the drawing is inserted, because the focus may go to one of its buttons.
  useLayoutEffect(
    () => drawing.showFolds(foldsOf(picture, unfolded, scope === 'details' ? actor.leaves : [])),
    [drawing, picture, unfolded, scope, actor.leaves],
  );
  const stage = useStage(frame, drawing, lit.lit, actor.leaves);
  useLayoutEffect(() => {
    drawing.light(lit);
    drawing.nameInside(actor.leaves);
  }, [drawing, lit]);
  usePath(drawing, props);
  useWay(drawing, actor, machine);
  useLayoutEffect(() => drawing.choose(pinned ?? pointed), [drawing, pinned, pointed]);
  useMoves(drawing, actor, isFork);
  useTimers(drawing, actor, machine);
  const isFolded = (at: Target): boolean =>
    at.kind === 'state' &&
    picture.parts.some(({ path }) => path === at.path && !unfolded.includes(path));
  const toggle = (path: string): void => {
    stage.hold(path);
    onFold(path, !unfolded.includes(path));
  };
  usePointing(frame, { point: setPointed, pin: setPinned, toggle, reveal: stage.reveal });
  const target = pinned ?? pointed;
  return (
    <>
      <div
        ref={frame}
        id="chart-stage"
        class={isFork ? 'chart-stage forked' : 'chart-stage'}
        role="group"
        aria-label={`${picture.title}: ${actor.leaves.join(', ')}`}
        tabIndex={0}
        onKeyDown={(event) => {
          const wayKey = actor.machine === 'server' ? { w: () => openWay(actor.actor) } : {};
          const keys: Readonly<Record<string, () => void>> = { ...toggles, ...wayKey };
          const show = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
          if (show === undefined) stage.press(event);
          else show();
        }}
      />
      <div class="chart-corner">
        <Minimap drawing={drawing} lit={lit.lit} onView={stage.onView} onGo={stage.goTo} />
        <StageTools {...stage} />
      </div>
      <CoverageNote drawing={drawing} actor={actor} machine={machine} picture={picture} />
      <Ignored actor={actor} isFork={isFork} />
      {target === undefined || actor.machine === undefined ? null : (
        <ChartCard
          target={target}
          facts={machine}
          machine={actor.machine}
          isPinned={pinned !== undefined}
          hint={isFolded(target) ? 'Click to unfold' : 'Click to keep this open'}
          onClose={() => setPinned(undefined)}
          onGo={setPinned}
          onWay={(path) => {
            setPinned(undefined);
            void findWay(actor.actor, path);
          }}
        />
      )}
    </>
  );
}

function foldsOf(
  { parts }: PictureFacts,
  unfolded: readonly string[],
  leaves: readonly string[],
): readonly Fold[] {
  return parts.map(({ path }) => ({
    path,
    isUnfolded: unfolded.includes(path),
    isFixed: isOnActivePath(path, leaves),
  }));
}

const isCalm = (): boolean => window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** Shows each step once, when it is new. */
function useMoves(drawing: ChartDrawing, actor: PicturedActor, isFork: boolean): void {
  const moves = usePage((state) => (state.revision, state.world.moves.get(actor.actor)));
  const seen = useRef({ step: moves?.step?.n ?? 0, ignored: moves?.ignored?.n ?? 0, edges: 0 });
  useEffect(() => {
    if (isFork || moves === undefined) return;
    const { step, ignored } = moves;
    const isNew =
      step !== undefined &&
      (step.n !== seen.current.step || step.edges.length !== seen.current.edges);
    if (isNew) drawing.animate(step.edges, isCalm());
    if (ignored !== undefined && ignored.n > seen.current.ignored) drawing.shrug(isCalm());
    seen.current = { step: step?.n ?? 0, ignored: ignored?.n ?? 0, edges: step?.edges.length ?? 0 };
  }, [drawing, moves, isFork]);
}

/** Marks how the active states of this picture were reached. */
function usePath(drawing: ChartDrawing, props: ChartStageProps): void {
  const { actor, machine, picture, isFork } = props;
  const taken = usePage((state) => (state.revision, state.world.moves.get(actor.actor)?.taken));
  useLayoutEffect(() => {
    const isWhole = picture.of === actor.machine;
    const leaves = actor.leaves.filter((leaf) => isWhole || leaf.startsWith(`${picture.of}.`));
    // What happened in a fork is beside it, as a list.
    const path = isFork ? [] : pathTo(leaves, taken ?? [], actor.machine ?? '', machine);
    drawing.showPath(
      path.map((transition) => ({
        transition,
        trigger: machine.transitions[transition]?.trigger ?? transition,
      })),
    );
  }, [drawing, taken, actor.leaves, machine, isFork]);
}

/** Numbers the steps of the way to a state on their arrows. */
function useWay(drawing: ChartDrawing, actor: PicturedActor, machine: MachineFacts): void {
  const way = usePage((state) => (state.way?.actor === actor.actor ? state.way : undefined));
  useLayoutEffect(
    () => drawing.showWay(stepsOf(way?.found, machine), way?.step, way?.to),
    [drawing, way, machine],
  );
}

function stepsOf(found: WayView | undefined, { transitions }: MachineFacts) {
  return (found?.steps ?? []).map(({ edges }) =>
    edges.map((edge) => ({ transition: edge, trigger: transitions[edge]?.trigger ?? edge })),
  );
}

/** The longest timer, which charts use for disabled deadlines. */
const longestTimerMs = 2_147_483_647;

function useTimers(drawing: ChartDrawing, actor: PicturedActor, machine: MachineFacts): void {
  const known = useMemo(
    () =>
      actor.timers.flatMap(({ id, delay, ms, armedAt }) => {
        if (ms >= longestTimerMs) return [];
        const after = afterTimer(id, delay);
        const transition = after === undefined ? undefined : transitionOfTimer(machine, after);
        if (after === undefined || transition === undefined) return [];
        const state = after.state.replace(new RegExp(`^${actor.machine}\\.`, 'u'), '');
        return [{ transition, state, ms, due: armedAt + ms }];
      }),
    [actor.timers, machine],
  );
  useTicks(known.length > 0);
  useLayoutEffect(() => {
    const time = now();
    const shown: readonly ShownTimer[] = known.map(({ transition, state, ms, due }) => ({
      transition,
      state,
      text: countdown(due - time),
      left: ms === 0 ? 0 : (due - time) / ms,
    }));
    drawing.showTimers(shown);
  });
}

/** Tracks the element under the pointer or focus; a click pins it, or folds and unfolds it. */
function usePointing(
  frame: RefObject<HTMLElement | null>,
  pointing: {
    readonly point: (target: Target | undefined) => void;
    readonly pin: (target: Target | undefined) => void;
    readonly toggle: (path: string) => void;
    readonly reveal: (path: string) => void;
  },
): void {
  const latest = useRef(pointing);
  latest.current = pointing;
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const hover = (event: Event): void => latest.current.point(targetOf(event.target));
    const focus = (event: FocusEvent): void => {
      hover(event);
      const target = targetOf(event.target);
      const path = foldAt(event.target) ?? (target?.kind === 'state' ? target.path : undefined);
      // A clicked state is already visible.
      const isByKey = event.target instanceof Element && event.target.matches(':focus-visible');
      if (path !== undefined && isByKey) latest.current.reveal(path);
    };
    const leave = (): void => latest.current.point(undefined);
    const act = (at: EventTarget | null): boolean => {
      const fold = foldAt(at);
      const target = targetOf(at);
      if (fold !== undefined) latest.current.toggle(fold);
      else latest.current.pin(target);
      return fold !== undefined || target !== undefined;
    };
    const press = (event: MouseEvent): void => {
      // The end of a drag is not a click.
      if (element.dataset['dragged'] === undefined) act(event.target);
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      if (event.target !== element && act(event.target)) event.preventDefault();
    };
    const stop = new AbortController();
    const { signal } = stop;
    element.addEventListener('pointerover', hover, { signal });
    element.addEventListener('focusin', focus, { signal });
    element.addEventListener('pointerleave', leave, { signal });
    element.addEventListener('click', press, { signal });
    element.addEventListener('keydown', key, { signal });
    return () => stop.abort();
  }, [frame]);
}

/** The part that a click folds or unfolds: its button, or the whole box of a folded part. */
function foldAt(element: EventTarget | null): string | undefined {
  if (!(element instanceof Element)) return undefined;
  const button = element.closest<SVGElement>('[data-fold]');
  return button?.dataset['fold'] ?? element.closest<SVGElement>('.folded')?.dataset['state'];
}

function targetOf(element: EventTarget | null): Target | undefined {
  if (!(element instanceof Element)) return undefined;
  const found = element.closest<SVGElement>('[data-transitions],[data-state]');
  if (found === null) return undefined;
  const { transitions, state } = found.dataset;
  if (transitions !== undefined) return { kind: 'arrow', transitions: transitions.split(' ') };
  return state === undefined ? undefined : { kind: 'state', path: state };
}

const ignoredMs = 2_500;

/** Briefly shows the event that the chart just ignored. */
function Ignored({ actor, isFork }: { actor: PicturedActor; isFork: boolean }) {
  const ignored = usePage((state) => (state.revision, state.world.moves.get(actor.actor)?.ignored));
  const [shown, setShown] = useState<typeof ignored>();
  const first = useRef(ignored);
  useEffect(() => {
    if (ignored === undefined || ignored === first.current || isFork) return undefined;
    setShown(ignored);
    const timer = setTimeout(() => setShown(undefined), ignoredMs);
    return () => clearTimeout(timer);
  }, [ignored, isFork]);
  if (shown === undefined) return null;
  return (
    <p class="ignored" key={shown.n}>
      ignored <code>{shownLine(shown.type)}</code>
    </p>
  );
}

interface CoverageNoteProps {
  readonly drawing: ChartDrawing;
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly picture: PictureFacts;
}

// While records arrive, it is counted again after so many.
const grain = 250;

function CoverageNote({ drawing, actor, machine, picture }: CoverageNoteProps) {
  const isCovering = usePage((state) => state.isCovering);
  const history = usePage((state) => state.history);
  const age = usePage((state) => Math.floor((state.revision, history.records.length) / grain));
  const key = actor.machine;
  const coverage = useMemo(
    () =>
      isCovering && key !== undefined
        ? coverageOf(history.records, key, (other) => history.known.get(other)?.machine)
        : undefined,
    [isCovering, history, age, key],
  );
  useLayoutEffect(() => drawing.showCoverage(coverage), [drawing, coverage]);
  if (coverage === undefined || key === undefined) return null;
  const isShown = (transition: string): boolean => {
    const source = sourceOf(key, transition);
    return picture.of === key || source === picture.of || source.startsWith(`${picture.of}.`);
  };
  const { taken, all } = coveredIn(machine, coverage, isShown);
  const whose = key === 'server' ? 'all servers' : `every ${key}`;
  return (
    <p class="coverage-note" role="status">
      <b>
        {taken} of {all}
      </b>{' '}
      transitions taken by {whose} in this recording
    </p>
  );
}
