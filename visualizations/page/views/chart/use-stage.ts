/** Zoom and pan by wheel, pointer, touch and keys, and following the active states. */

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  anchored,
  type Box,
  centredOn,
  fitted,
  following,
  kept,
  panned,
  type Size,
  sees,
  type Viewport,
  type Visible,
  visibleIn,
  zoomed,
} from '../../model/viewport.ts';
import type { ChartDrawing } from './drawing.ts';

const panStep = 80;

export function useStage(
  frame: RefObject<HTMLDivElement | null>,
  drawing: ChartDrawing,
  lit: ReadonlySet<string>,
  leaves: readonly string[],
) {
  const viewport = useRef<Viewport>({ x: 0, y: 0, scale: 1 });
  const scaleText = useRef<HTMLSpanElement>(null);
  const onView = useRef<((visible: Visible) => void) | undefined>(undefined);
  const [isFollowing, setFollowing] = useState(true);

  const sizeOf = (): Size => ({
    width: frame.current?.clientWidth ?? 0,
    height: frame.current?.clientHeight ?? 0,
  });
  const set = (next: Viewport, isSmooth = false): void => {
    viewport.current = kept(next, drawing.size, sizeOf());
    const { x, y, scale } = viewport.current;
    drawing.svg.classList.toggle('smooth', isSmooth);
    drawing.svg.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    if (scaleText.current !== null) scaleText.current.textContent = `${Math.round(scale * 100)} %`;
    onView.current?.(visibleIn(viewport.current, drawing.size, sizeOf()));
  };
  const follow = (isSmooth: boolean): void =>
    set(following(viewport.current, drawing.size, sizeOf(), drawing.boxOf(lit)), isSmooth);

  const held = useRef<{ readonly path: string; readonly from: Box }>(undefined);
  /** Keeps the state that is folded or unfolded next at its position on the screen. */
  const hold = (path: string): void => {
    const from = drawing.boxOf([path]);
    held.current = from === undefined ? undefined : { path, from };
  };
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const isFocused =
      element !== document.activeElement && element.contains(document.activeElement);
    element.replaceChildren(drawing.svg);
    const { path = '', from } = held.current ?? {};
    const to = drawing.boxOf([path]);
    held.current = undefined;
    if (from === undefined || to === undefined) follow(false);
    else set(anchored(viewport.current, drawing.size, sizeOf(), { from, to }));
    if (isFocused) drawing.focus(path);
    const observer = new ResizeObserver(() => resized.current());
    observer.observe(element);
    return () => observer.disconnect();
  }, [drawing]);
  const resized = useRef<() => void>(() => undefined);
  resized.current = () => (isFollowing ? follow(false) : set(viewport.current));
  useEffect(() => {
    if (isFollowing) follow(true);
  }, [leaves, isFollowing]);
  useEffect(
    () =>
      listenForPointers(
        frame.current,
        () => viewport.current,
        set,
        () => setFollowing(false),
      ),
    [drawing],
  );

  /** Scrolls to a state that got the focus. */
  const reveal = (path: string): void => {
    // The browser scrolls to the focused element; move the picture instead.
    frame.current?.scrollTo(0, 0);
    const box = drawing.boxOf([path]);
    const { scale, x } = viewport.current;
    if (box === undefined || sees(viewport.current, box, sizeOf())) return;
    const next = centredOn(box, sizeOf(), scale);
    const isWide = drawing.size.width * scale <= sizeOf().width;
    move(isWide ? { ...next, x } : next);
  };

  const middle = (): { x: number; y: number } => {
    const { width, height } = sizeOf();
    return { x: width / 2, y: height / 2 };
  };
  const move = (next: Viewport): void => {
    setFollowing(false);
    set(next, true);
  };
  const zoom = (factor: number): void => move(zoomed(viewport.current, factor, middle()));
  /** Centres a point of the picture. */
  const goTo = (x: number, y: number): void => {
    setFollowing(false);
    set(centredOn({ x, y, width: 0, height: 0 }, sizeOf(), viewport.current.scale));
  };
  const fit = (): void => move(fitted(drawing.size, sizeOf()));
  const toggleFollowing = (): void => setFollowing(!isFollowing);
  const keys: Readonly<Record<string, () => void>> = {
    '+': () => zoom(1.25),
    '=': () => zoom(1.25),
    '-': () => zoom(1 / 1.25),
    '0': fit,
    f: toggleFollowing,
    ArrowLeft: () => move(panned(viewport.current, panStep, 0)),
    ArrowRight: () => move(panned(viewport.current, -panStep, 0)),
    ArrowUp: () => move(panned(viewport.current, 0, panStep)),
    ArrowDown: () => move(panned(viewport.current, 0, -panStep)),
  };
  const press = (event: KeyboardEvent): void => act(keys, event);
  return { isFollowing, scaleText, onView, zoom, fit, goTo, toggleFollowing, press, hold, reveal };
}

function act(keys: Readonly<Record<string, () => void>>, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = keys[event.key];
  if (action === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}

type Finger = Pick<Viewport, 'x' | 'y'>;

// A shorter movement counts as a click.
const dragPixels = 4;

function listenForPointers(
  element: HTMLElement | null,
  get: () => Viewport,
  set: (viewport: Viewport) => void,
  touched: () => void,
): (() => void) | undefined {
  if (element === null) return undefined;
  const fingers = new Map<number, Finger>();
  let start: Finger | undefined;
  const at = (event: MouseEvent): Finger => {
    const { left, top } = element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    touched();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (event.shiftKey) set(panned(get(), -event.deltaY * lines, 0));
    else set(zoomed(get(), Math.exp((-event.deltaY * lines) / 400), at(event)));
  };
  const down = (event: PointerEvent): void => {
    fingers.set(event.pointerId, at(event));
    start = at(event);
    delete element.dataset['dragged'];
  };
  const move = (event: PointerEvent): void => {
    const before = fingers.get(event.pointerId);
    if (before === undefined) return;
    const here = at(event);
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    if (other !== undefined) {
      const ratio = distance(here, other) / Math.max(1, distance(before, other));
      set(zoomed(get(), ratio, { x: (here.x + other.x) / 2, y: (here.y + other.y) / 2 }));
    } else if (
      element.dataset['dragged'] !== undefined ||
      (start !== undefined && distance(start, here) > dragPixels)
    ) {
      if (element.dataset['dragged'] === undefined) element.setPointerCapture(event.pointerId);
      element.dataset['dragged'] = '';
      touched();
      set(panned(get(), here.x - before.x, here.y - before.y));
    } else return;
    fingers.set(event.pointerId, here);
  };
  const up = (event: PointerEvent): void => {
    fingers.delete(event.pointerId);
  };
  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener('wheel', wheel, { passive: false, signal });
  element.addEventListener('pointerdown', down, { signal });
  element.addEventListener('pointermove', move, { signal });
  element.addEventListener('pointerup', up, { signal });
  element.addEventListener('pointercancel', up, { signal });
  return () => stop.abort();
}

function distance(a: Finger, b: Finger): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
