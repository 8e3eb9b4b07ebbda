/** Keys that work everywhere on the page. */

import { chosenLogin } from './chosen.ts';
import { go } from './moments.ts';
import { closePanel } from './panel.ts';
import { change, current } from './store.ts';
import { switchTheme } from './theme.ts';
import { step, stepToProblem, toggleLive } from './travel.ts';
import { endWay } from './way.ts';

/** In the order of the help. */
export const globalKeys: readonly { readonly keys: string; readonly does: string }[] = [
  { keys: '1 2 3', does: 'Fleet, chart, sequence' },
  { keys: '/', does: 'Go to the filter' },
  { keys: '[ ]', does: 'One record back, one forward' },
  { keys: '{ }', does: 'A hundred records back, forward' },
  { keys: 'N P', does: 'To the next problem, the one before' },
  { keys: 'Q', does: 'The open questions of servers' },
  { keys: 'L', does: 'Back to now' },
  { keys: 'T', does: 'Light or dark' },
  { keys: 'Esc', does: 'Close what is open' },
  { keys: '?', does: 'This help' },
];

const actions: Readonly<Record<string, () => void>> = {
  '1': () => go({ view: 'fleet' }),
  '2': () => go({ view: 'chart' }),
  '3': () => go({ view: 'sequence' }),
  '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
  '[': () => step(-1),
  ']': () => step(1),
  '{': () => step(-100),
  '}': () => step(100),
  n: () => stepToProblem(1),
  p: () => stepToProblem(-1),
  q: () => change({ dialog: { kind: 'questions' } }),
  l: () => toggleLive(),
  t: () => switchTheme(),
  '?': () => change({ dialog: { kind: 'help' } }),
};

// They work wherever the focus is beside the chart.
const chartKeys: ReadonlySet<string> = new Set(['0', '+', '=', '-', 'c', 'd', 'f', 'w']);

function pressOnChart(key: string): void {
  document.querySelector('#chart-stage')?.dispatchEvent(new KeyboardEvent('keydown', { key }));
}

export function listenForKeys(): () => void {
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = fieldOf(event.target);
    if (event.key === 'Escape') {
      escape(field);
      return;
    }
    if (field !== undefined || current().dialog !== undefined) return;
    if (current().route.view === 'chart' && chartKeys.has(event.key)) {
      event.preventDefault();
      pressOnChart(event.key);
      return;
    }
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  window.addEventListener('keydown', press);
  return () => window.removeEventListener('keydown', press);
}

/** The field that takes the letters itself. */
function fieldOf(target: EventTarget | null): HTMLElement | undefined {
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return target;
  if (!(target instanceof HTMLInputElement)) return undefined;
  return target.type === 'range' || target.type === 'checkbox' ? undefined : target;
}

function escape(field: HTMLElement | undefined): void {
  const { dialog, whatIf, isComparing, way, route } = current();
  if (dialog !== undefined) change({ dialog: undefined });
  else if (field !== undefined) field.blur();
  else if (whatIf) change({ whatIf: false });
  else if (way !== undefined) endWay();
  else if (isComparing) change({ isComparing: false });
  else if (chosenLogin(current()) !== undefined) go({ actor: undefined });
  else if (route.server !== undefined) closePanel();
}
