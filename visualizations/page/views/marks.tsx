/** Small drawings: the marks of the states, and the icons of buttons. */

import type { ServerState } from '../../../src/domain/server-state.ts';
import { spoken } from '../model/announcements.ts';
import { type Tone, toneOf } from '../model/state-tones.ts';

const shapes: Readonly<Record<Tone, string>> = {
  good: 'M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13ZM6.900 11.300 3.900 8.300l1.200-1.200 1.800 1.800 4-4 1.200 1.200Z',
  busy: 'M8 1a7 7 0 0 1 7 7h-2.300A4.700 4.700 0 0 0 8 3.300ZM8 15a7 7 0 0 1-7-7h2.300A4.700 4.700 0 0 0 8 12.700Z',
  waiting:
    'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 2a5 5 0 1 0 0 10A5 5 0 0 0 8 3Zm-.800 1.600h1.600v3.100l2.300 1.400-.800 1.400-3.100-1.900Z',
  person:
    'M8 .800 15.200 8 8 15.200.800 8Zm-.900 3.700v4.200h1.800V4.500Zm0 5.200v1.800h1.800V9.700Z',
  bad: 'M4.900 1h6.200L15 4.900v6.200L11.100 15H4.900L1 11.100V4.900Zm.900 3.500L4.500 5.800 6.700 8l-2.200 2.200 1.300 1.300L8 9.300l2.200 2.200 1.300-1.300L9.300 8l2.200-2.200-1.300-1.300L8 6.700Z',
  quiet:
    'M8 1.500a6.500 6.500 0 1 1 0 13a6.500 6.500 0 0 1 0-13Zm0 2a4.500 4.500 0 1 0 0 9a4.500 4.500 0 0 0 0-9Z',
};

export function StateMark({ state }: { state: ServerState }) {
  return <ToneMark tone={toneOf[state]} />;
}

export function ToneMark({ tone }: { tone: Tone }) {
  return (
    <svg class={`mark-${tone} state-mark`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[tone]} fill-rule="evenodd" />
    </svg>
  );
}

/** A state in words, with its mark. */
export function StateName({ state, reason }: { state: ServerState; reason?: string | undefined }) {
  return (
    <span class={`state-name tone-${toneOf[state]}`}>
      <StateMark state={state} />
      <span>
        <b>{spoken(state)}</b>
        {reason === undefined ? null : <span class="reason">{spoken(reason)}</span>}
      </span>
    </span>
  );
}

const icons = {
  sun: 'M8 4.500a3.500 3.500 0 1 0 0 7a3.500 3.500 0 0 0 0-7ZM8 1v1.800M8 13.200V15M1 8h1.800M13.200 8H15M3 3l1.300 1.300M11.700 11.700 13 13M13 3l-1.300 1.300M4.300 11.700 3 13',
  help: 'M6 6.200a2 2 0 1 1 2.900 1.800c-.700.400-.900.800-.900 1.500M8 11.600v.100M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13Z',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  play: 'M4.500 2.500v11l9-5.500Z',
  pause: 'M5 3v10M11 3v10',
  back: 'M10.500 3.500 6 8l4.500 4.500',
  forward: 'M5.500 3.500 10 8l-4.500 4.500',
  problem: 'M3 3v5.500M3 11.300v.200M7.500 3.500 12 8l-4.500 4.500',
  problemBack: 'M13 3v5.500M13 11.300v.200M8.500 3.500 4 8l4.500 4.500',
  tiles:
    'M2.500 2.500h4.500v4.500h-4.500ZM9 2.500h4.500v4.500H9ZM2.500 9h4.500v4.500h-4.500ZM9 9h4.500v4.500H9Z',
  fork: 'M4.500 2v4.500a2 2 0 0 0 2 2h3a2 2 0 0 1 2 2V14M4.500 6.500V14',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  fit: 'M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10',
  target: 'M8 4a4 4 0 1 0 0 8a4 4 0 0 0 0-8ZM8 1v3M8 12v3M1 8h3M12 8h3',
  copy: 'M5.500 5.500v-3h8v8h-3M2.500 5.500h8v8h-8Z',
  save: 'M8 2v8M4.500 7 8 10.500 11.500 7M2.500 13.500h11',
  refresh: 'M13.500 8a5.500 5.500 0 1 1-1.600-3.900M13.500 2v3h-3',
  compare: 'M3 3h3.500v10H3ZM9.500 3H13v10H9.500ZM8 1.500v13',
  list: 'M2.500 4h11M2.500 8h11M2.500 12h7',
  table: 'M2 3h12v10H2ZM2 6.300h12M2 9.700h12M6.500 3v10',
} as const;

export type IconName = keyof typeof icons;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
