/** All charts, and the pictures in which they are drawn: one for each file that holds a part of them. */

import type { AnyStateMachine } from 'xstate';
import { permissionMachine } from '../../machines/permission.ts';
import { permitMachine } from '../../machines/permit.ts';
import { questionMachine } from '../../machines/question.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import type { PictureOptions } from './chart-view.ts';

/** A chart, and where its parts are written. */
export interface ListedChart {
  readonly machine: AnyStateMachine;
  /** Names of the constants that hold the chart and its setup. */
  readonly chart: string;
  readonly setup: string;
  /** An outer part before those in it. */
  readonly pictures: readonly ChartPicture[];
}

export interface ChartPicture {
  /** `<name>.svg` in the folder of the pictures. */
  readonly name: string;
  readonly title: string;
  /** Dotted path of the state that it shows; the id of the chart stands for all of it. */
  readonly of: string;
  /** The file that writes this part, with its drawing in the leading comment. */
  readonly source: string;
}

export const charts: readonly ListedChart[] = [
  {
    machine: serverMachine,
    chart: 'serverMachine',
    setup: 'serverSetup',
    pictures: [
      picture('server.connection', 'Connection', 'connection', 'server/connection'),
      picture('server.parked', 'Without a session', 'connection.parked', 'server/parked'),
      picture(
        'server.engaged',
        'To run: a permit, then a session',
        'connection.engaged',
        'server/engaged',
      ),
      picture('server.activity', 'Activity', 'activity', 'server/activity'),
      picture('server.catalog', 'Catalog', 'catalog', 'server/catalog'),
      picture('server.circuit', 'Circuit', 'circuit', 'server/circuit'),
    ],
  },
  {
    machine: sessionMachine,
    chart: 'sessionMachine',
    setup: 'sessionSetup',
    pictures: [
      picture('session', 'Session', 'session', 'session/session'),
      picture('session.opening', 'How it opens', 'opening', 'session/opening'),
      picture('session.open', 'While it is open', 'open', 'session/open'),
      picture('session.watch', 'Its health checks', 'open.watch', 'session/health'),
    ],
  },
  {
    machine: refreshMachine,
    chart: 'refreshMachine',
    setup: 'refreshSetup',
    pictures: [picture('refresh', 'Refresh of a list', 'refresh', 'session/refresh')],
  },
  {
    machine: troupeMachine,
    chart: 'troupeMachine',
    setup: 'troupeSetup',
    pictures: [picture('troupe', 'The root', 'troupe', 'troupe/troupe')],
  },
  {
    machine: handoverMachine,
    chart: 'handoverMachine',
    setup: 'handoverSetup',
    pictures: [picture('handover', 'A handover', 'handover', 'troupe/handover')],
  },
  {
    machine: slotsMachine,
    chart: 'slotsMachine',
    setup: 'slotsMachine',
    pictures: [picture('slots', 'The start permits', 'slots', 'slots')],
  },
  {
    machine: permitMachine,
    chart: 'permitMachine',
    setup: 'permitMachine',
    pictures: [picture('permit', 'One start permit', 'permit', 'permit')],
  },
  {
    machine: permissionMachine,
    chart: 'permissionMachine',
    setup: 'permissionSetup',
    pictures: [picture('permission', 'The permission of a call', 'permission', 'permission')],
  },
  {
    machine: questionMachine,
    chart: 'questionMachine',
    setup: 'questionSetup',
    pictures: [picture('question', 'A question of a server', 'question', 'question')],
  },
];

function picture(name: string, title: string, of: string, source: string): ChartPicture {
  return { name, title, of, source: `machines/${source}.ts` };
}

/** The pictures that show a part of another one. */
export function partsOf({ machine, pictures }: ListedChart, whole: ChartPicture) {
  return pictures.filter(
    ({ of }) => of !== whole.of && (whole.of === machine.id || of.startsWith(`${whole.of}.`)),
  );
}

/** The pictures that are part of no other one. */
export function outerPictures(chart: ListedChart): readonly ChartPicture[] {
  const inner = new Set(chart.pictures.flatMap((each) => partsOf(chart, each)));
  return chart.pictures.filter((each) => !inner.has(each));
}

/** What to draw for a picture, with these parts of it unfolded. */
export function optionsOf(
  chart: ListedChart,
  whole: ChartPicture,
  unfolded: readonly string[] = [],
): PictureOptions {
  return {
    ...(whole.of === chart.machine.id ? {} : { of: whole.of }),
    parts: Object.fromEntries(partsOf(chart, whole).map(({ of, name }) => [of, name])),
    unfolded,
  };
}
