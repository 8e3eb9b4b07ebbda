/**
 * A chart's picture in the page: highlights states, animates transitions, and shows timers on their arrows. The
 * picture is read as data: nothing in it can run, and its style comes from the page.
 */

import type { Coverage } from '../../model/coverage.ts';
import { activeWord, type LitStates } from '../../model/lit-states.ts';
import type { Box, Size } from '../../model/viewport.ts';

export interface ShownTimer {
  /** The arrow that it belongs to; the state if the picture has none. */
  readonly transition: string;
  readonly state: string;
  readonly text: string;
  /** The remaining share, 0 to 1. */
  readonly left: number;
}

/** A part of a picture that the user may fold and unfold. */
export interface Fold {
  readonly path: string;
  readonly isUnfolded: boolean;
  /** Active parts stay unfolded. */
  readonly isFixed: boolean;
}

/** A taken transition, and the event that took it. */
export interface NamedTransition {
  readonly transition: string;
  readonly trigger: string;
}

/** The element under the pointer or with the focus. */
export type Target =
  | { readonly kind: 'state'; readonly path: string }
  | { readonly kind: 'arrow'; readonly transitions: readonly string[] };

export class ChartDrawing {
  readonly svg: SVGSVGElement;
  readonly size: Size;
  readonly states = new Map<string, SVGGElement>();
  readonly #arrows = new Map<string, SVGGElement[]>();
  readonly #timers: SVGGElement;
  readonly #numbers = svgElement('g', { class: 'way-numbers' });
  /** The line of each folded state of an overview, and its text while nothing is active inside. */
  readonly #insides = new Map<string, { readonly line: SVGTextElement; readonly text: string }>();
  /** The labels that name another event than their own first one, with their own text. */
  readonly #labels = new Map<SVGTextElement, string>();
  #path: readonly NamedTransition[] = [];
  #way: readonly NamedTransition[] = [];
  #folds: readonly Fold[] = [];

  /** A read-only picture is one image, whose parts cannot be pressed. */
  constructor(text: string, { isReadOnly = false } = {}) {
    this.svg = parsed(text);
    const { width, height } = this.svg.viewBox.baseVal;
    this.size = { width, height };
    for (const state of this.svg.querySelectorAll<SVGGElement>('[data-state]')) {
      this.states.set(state.dataset['state'] ?? '', state);
    }
    for (const [path, state] of this.states) {
      const [line, ...others] = state.querySelectorAll<SVGTextElement>('text.fold');
      if (line !== undefined && others.length === 0)
        this.#insides.set(path, { line, text: line.textContent ?? '' });
    }
    for (const arrow of this.svg.querySelectorAll<SVGGElement>('[data-transitions]')) {
      for (const transition of (arrow.dataset['transitions'] ?? '').split(' ')) {
        this.#arrows.set(transition, [...(this.#arrows.get(transition) ?? []), arrow]);
      }
    }
    this.#timers = svgElement('g', { class: 'timers' });
    this.svg.append(this.#timers, this.#numbers);
    if (isReadOnly) return;
    this.svg.setAttribute('role', 'group');
    for (const [path, state] of this.states)
      setAttributes(state, { tabindex: 0, role: 'button', 'aria-label': `State ${path}` });
  }

  light({ lit, within }: LitStates): void {
    for (const [path, state] of this.states) {
      state.classList.toggle('lit', lit.has(path));
      state.classList.toggle('within', within.has(path));
      const words = lit.has(path) ? ', active' : within.has(path) ? ', active inside' : '';
      state.setAttribute('aria-label', `State ${path}${words}`);
    }
  }

  /** Writes the name of the active state into each folded state that hides it. */
  nameInside(leaves: readonly string[]): void {
    for (const [path, { line, text }] of this.#insides) {
      const word = activeWord(leaves, path);
      const shown = word === undefined ? text : `▸ ${path.endsWith(word) ? 'active' : word}`;
      if (line.textContent !== shown) line.textContent = shown;
    }
  }

  /**
   * Marks the transitions on the path to the active states. A label of an overview, which stands for
   * several events, then names the one that was taken.
   */
  showPath(path: readonly NamedTransition[]): void {
    for (const old of this.svg.querySelectorAll('.path')) old.classList.remove('path');
    for (const { transition } of path)
      for (const arrow of this.#arrows.get(transition) ?? []) arrow.classList.add('path');
    this.#path = path.toReversed();
    this.#nameEvents();
  }

  /** Names the events of the path on labels that stand for several, and over them those of the way. */
  #nameEvents(): void {
    for (const [line, text] of this.#labels) line.textContent = text;
    this.#labels.clear();
    for (const { transition, trigger } of [...this.#path, ...this.#way]) {
      for (const arrow of this.#arrows.get(transition) ?? []) {
        const text = this.#textOf(arrow);
        if (!(arrow instanceof SVGTextElement) || !severalEvents.test(text)) continue;
        this.#labels.set(arrow, text);
        arrow.textContent = centred(trigger, text.length);
      }
    }
  }

  #textOf(arrow: SVGGElement): string {
    const own = arrow instanceof SVGTextElement ? this.#labels.get(arrow) : undefined;
    return own ?? arrow.textContent ?? '';
  }

  /**
   * Marks the steps of a way to a state, each with its number on its last drawn arrow.
   *
   * @param only - place of the step to show alone
   */
  showWay(
    steps: readonly (readonly NamedTransition[])[],
    only: number | undefined,
    to: string | undefined,
  ): void {
    for (const old of this.svg.querySelectorAll('.on-way')) old.classList.remove('on-way');
    this.#numbers.replaceChildren();
    this.svg.classList.toggle('has-way', steps.length > 0);
    if (to !== undefined) this.states.get(to)?.classList.add('on-way');
    const shown = [...steps.entries()].filter(([place]) => only === undefined || only === place);
    // The first step that takes an arrow names it.
    this.#way = shown.flatMap(([, edges]) => edges).toReversed();
    this.#nameEvents();
    const numbers = new Map<SVGGElement, number[]>();
    for (const [place, edges] of shown) {
      const arrows = edges.flatMap(({ transition }) => this.#arrows.get(transition) ?? []);
      for (const arrow of arrows) arrow.classList.add('on-way');
      const drawn = arrows.find((arrow) => arrow.querySelector('.way') !== null);
      if (drawn !== undefined) numbers.set(drawn, [...(numbers.get(drawn) ?? []), place + 1]);
    }
    for (const [arrow, places] of numbers) {
      const way = arrow.querySelector<SVGPathElement>('.way');
      if (way === null) continue;
      // At its start, where no label is.
      const { x, y } = way.getPointAtLength(Math.min(way.getTotalLength() / 4, 6));
      this.#numbers.append(numberBadge(places, x, y));
    }
  }

  /** Fades what was never taken, and thickens what was taken often; undefined shows all alike. */
  showCoverage(coverage: Coverage | undefined): void {
    for (const arrow of new Set([...this.#arrows.values()].flat())) {
      const transitions = (arrow.dataset['transitions'] ?? '').split(' ');
      const count = transitions.reduce((sum, each) => sum + (coverage?.get(each) ?? 0), 0);
      arrow.classList.toggle('never', coverage !== undefined && count === 0);
      const way = arrow.querySelector<SVGPathElement>('.way');
      if (way === null) continue;
      const width = 1.3 + Math.min(4, Math.log2(count + 1) / 2);
      way.style.strokeWidth = coverage === undefined || count === 0 ? '' : `${width}px`;
    }
  }

  /** Puts a button on each part that can be folded or unfolded now. */
  showFolds(folds: readonly Fold[]): void {
    if (JSON.stringify(folds) === JSON.stringify(this.#folds)) return;
    this.#folds = folds;
    for (const old of this.svg.querySelectorAll('[data-fold]')) old.remove();
    for (const { path, isUnfolded, isFixed } of folds) {
      const state = this.states.get(path);
      const box = this.boxOf([path]);
      if (state === undefined || box === undefined || isFixed) continue;
      state.after(foldButton(path, isUnfolded, box));
    }
  }

  /** Moves the focus to the button of a part, or to the part itself. */
  focus(path: string): void {
    const button = this.svg.querySelector<SVGGElement>(`[data-fold="${CSS.escape(path)}"]`);
    (button ?? this.states.get(path))?.focus({ preventScroll: true });
  }

  /** Animates the transitions just taken, as far as they are drawn. */
  animate(edges: readonly string[], isCalm: boolean): void {
    for (const old of this.svg.querySelectorAll('.taken')) old.classList.remove('taken');
    for (const edge of edges) {
      for (const arrow of this.#arrows.get(edge) ?? []) {
        arrow.classList.add('taken');
        if (!isCalm) this.#moveAlong(arrow);
      }
    }
  }

  /** Shakes the active states after an ignored event. */
  shrug(isCalm: boolean): void {
    for (const state of this.svg.querySelectorAll<SVGGElement>('.state.lit')) {
      state.classList.add('shrugging');
      const end = (): void => state.classList.remove('shrugging');
      if (isCalm) setTimeout(end, 600);
      else {
        state
          .animate(
            [0, -4, 4, -3, 2, 0].map((x) => ({ transform: `translateX(${x}px)` })),
            { duration: 360 },
          )
          .finished.then(end, end);
      }
    }
  }

  showTimers(timers: readonly ShownTimer[]): void {
    const shown = timers.flatMap((timer) => {
      const place = this.#placeOf(timer);
      return place === undefined ? [] : [{ ...timer, place }];
    });
    while (this.#timers.children.length > shown.length) this.#timers.lastElementChild?.remove();
    while (this.#timers.children.length < shown.length) this.#timers.append(timerBadge());
    shown.forEach(({ place, text, left }, index) => {
      const badge = this.#timers.children[index];
      if (badge !== undefined) fillBadge(badge, place, text, left);
    });
  }

  /** The bounding box of states, in the picture's units. */
  boxOf(paths: Iterable<string>): Box | undefined {
    const boxes = [...paths].flatMap((path) => {
      const rect = this.states.get(path)?.querySelector<SVGRectElement>('.box');
      if (rect === null || rect === undefined) return [];
      const [x = 0, y = 0, width = 0, height = 0] = ['x', 'y', 'width', 'height'].map((name) =>
        Number(rect.getAttribute(name)),
      );
      return [{ x, y, width, height }];
    });
    if (boxes.length === 0) return undefined;
    const x = Math.min(...boxes.map((box) => box.x));
    const y = Math.min(...boxes.map((box) => box.y));
    return {
      x,
      y,
      width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
      height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
    };
  }

  choose(target: Target | undefined): void {
    for (const old of this.svg.querySelectorAll('.chosen')) old.classList.remove('chosen');
    if (target?.kind === 'state') this.states.get(target.path)?.classList.add('chosen');
    else {
      for (const transition of target?.transitions ?? []) {
        for (const arrow of this.#arrows.get(transition) ?? []) arrow.classList.add('chosen');
      }
    }
  }

  #moveAlong(arrow: SVGGElement): void {
    const way = arrow.querySelector<SVGPathElement>('.way');
    if (way === null) return;
    const length = way.getTotalLength();
    const trace = way.cloneNode() as SVGPathElement;
    trace.setAttribute('class', 'trace');
    trace.dataset['moving'] = '';
    arrow.append(trace);
    const head = Math.min(length, 60);
    trace
      .animate(
        [
          { strokeDasharray: `${head} ${length + head}`, strokeDashoffset: head },
          { strokeDasharray: `${head} ${length + head}`, strokeDashoffset: -length },
        ],
        { duration: Math.min(1_400, 450 + length * 0.5), easing: 'ease-in-out' },
      )
      .finished.finally(() => trace.remove())
      .catch(() => undefined);
  }

  #placeOf({ transition, state }: ShownTimer): { x: number; y: number } | undefined {
    for (const arrow of this.#arrows.get(transition) ?? []) {
      const way = arrow.querySelector<SVGPathElement>('.way');
      if (arrow.matches('.state > text')) return endOf(arrow);
      if (way === null) continue;
      // Near its start, close to the active state.
      const { x, y } = way.getPointAtLength(Math.min(way.getTotalLength() / 2, badge.width));
      return { x, y };
    }
    const box = this.boxOf([state]);
    if (box === undefined) return undefined;
    return box.width < 2 * badge.width
      ? { x: box.x + box.width + badge.width / 2 + 4, y: box.y + box.height / 2 }
      : { x: box.x + box.width - 40, y: box.y };
  }
}

function parsed(text: string): SVGSVGElement {
  // The page's content security policy forbids styles inside a picture.
  const plain = text.replace(/<style>[^<]*<\/style>/u, '');
  const { documentElement } = new DOMParser().parseFromString(trusted(plain), 'image/svg+xml');
  if (!(documentElement instanceof SVGSVGElement)) throw new Error('The picture cannot be read.');
  for (const strange of documentElement.querySelectorAll(
    'script,style,foreignObject,a,image,use',
  )) {
    strange.remove();
  }
  return document.importNode(documentElement, true);
}

interface HtmlPolicy {
  readonly createHTML: (text: string) => string;
}

interface PolicyFactory {
  readonly createPolicy: (name: string, policy: HtmlPolicy) => HtmlPolicy;
}

let htmlPolicy: HtmlPolicy | undefined;

/** Marks a picture of ours as such for a host's page that requires trusted types. */
function trusted(text: string): string {
  const factory = (globalThis as { readonly trustedTypes?: PolicyFactory }).trustedTypes;
  try {
    htmlPolicy ??= factory?.createPolicy('troupe-chart', { createHTML: (html) => html });
  } catch {
    // The page forbids this policy, but may still take text.
  }
  return htmlPolicy?.createHTML(text) ?? text;
}

function svgElement<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | number>>,
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  setAttributes(element, attributes);
  return element;
}

function setAttributes(
  element: Element,
  attributes: Readonly<Record<string, string | number>>,
): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

const badge = { width: 88, height: 17 };

/** After a line in a box, which has a monospaced font. */
function endOf(line: SVGElement): { x: number; y: number } {
  const [x = 0, y = 0] = ['x', 'y'].map((name) => Number(line.getAttribute(name)));
  const length = (line.textContent?.length ?? 0) * letterWidth;
  return { x: x + length + badge.width / 2 + 6, y: y - 4 };
}

/** The label of an arrow of an overview: the first of its events, and how many there are besides. */
const severalEvents = /, \+\d+$/u;

/** In the middle of as many letters as there were. */
function centred(text: string, letters: number): string {
  if (text.length > letters) return `${text.slice(0, letters - 1)}…`;
  return text.padStart(Math.ceil((letters + text.length) / 2)).padEnd(letters);
}

const letterWidth = 7.25;
const buttonSize = 24;
// Beside the name of a folded state; a click anywhere in its box unfolds it.
const smallButtonSize = 18;

function foldButton(path: string, isUnfolded: boolean, box: Box): SVGGElement {
  const size = isUnfolded ? buttonSize : smallButtonSize;
  const inset = isUnfolded ? 6 : 4;
  const scale = size / buttonSize;
  const button = svgElement('g', {
    class: 'fold-button',
    'data-fold': path,
    role: 'button',
    tabindex: 0,
    'aria-expanded': String(isUnfolded),
    'aria-label': `${isUnfolded ? 'Fold' : 'Unfold'} ${path}`,
    transform: `translate(${box.x + box.width - size - inset} ${box.y + inset}) scale(${scale})`,
  });
  button.append(
    svgElement('rect', { width: buttonSize, height: buttonSize, rx: 5 }),
    svgElement('path', { d: isUnfolded ? 'M7 12h10' : 'M7 12h10M12 7v10' }),
  );
  return button;
}

/** The steps that take an arrow: the first, and that there are more. */
function numberBadge([first, ...more]: readonly number[], x: number, y: number): SVGGElement {
  const text = more.length === 0 ? String(first) : `${first}…`;
  const width = 10 + text.length * 7;
  const element = svgElement('g', { transform: `translate(${x - width / 2} ${y - 9})` });
  const label = svgElement('text', { 'text-anchor': 'middle', x: width / 2, y: 13 });
  label.textContent = text;
  element.append(svgElement('rect', { width, height: 18, rx: 9 }), label);
  return element;
}

function timerBadge(): SVGGElement {
  const element = svgElement('g', { class: 'timer' });
  element.append(
    svgElement('rect', { class: 'timer-back', ...badge, rx: 8.5 }),
    svgElement('rect', { class: 'timer-left', ...badge, rx: 8.5 }),
    svgElement('text', { 'text-anchor': 'middle', x: badge.width / 2, y: 12.5 }),
  );
  return element;
}

function fillBadge(
  element: Element,
  place: { x: number; y: number },
  text: string,
  left: number,
): void {
  const x = place.x - badge.width / 2;
  const y = place.y - badge.height / 2;
  element.setAttribute('transform', `translate(${x} ${y})`);
  element
    .querySelector('.timer-left')
    ?.setAttribute('width', String(Math.max(0, Math.min(1, left)) * badge.width));
  const label = element.querySelector('text');
  if (label !== null && label.textContent !== text) label.textContent = text;
}
