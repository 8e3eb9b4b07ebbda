/** All charts and their pictures: one picture for each file with a part of a chart. */

import type { AnyStateMachine } from 'xstate';
import { attachmentMachine } from '../../machines/attachment.ts';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import { leaseMachine } from '../../machines/lease.ts';
import { permissionMachine } from '../../machines/permission.ts';
import { questionMachine } from '../../machines/question.ts';
import { recordFileMachine } from '../../machines/record-file.ts';
import { retentionMachine } from '../../machines/retention.ts';
import { serverMachine } from '../../machines/server/server.ts';
import { refreshMachine } from '../../machines/session/list-refresh.ts';
import { sessionMachine } from '../../machines/session/session.ts';
import { slotsMachine } from '../../machines/slots.ts';
import { throttleMachine } from '../../machines/throttle.ts';
import { handoverMachine } from '../../machines/troupe/handover.ts';
import { troupeMachine } from '../../machines/troupe/troupe.ts';
import type { PictureOptions } from './chart-view.ts';

/** A chart, and the files that hold its parts. */
export interface ListedChart {
  readonly machine: AnyStateMachine;
  /** The name of the constant that holds the chart. */
  readonly chart: string;
  /** An outer part before its inner ones. */
  readonly pictures: readonly ChartPicture[];
}

export interface ChartPicture {
  /** `<name>.svg` in the folder of the pictures. */
  readonly name: string;
  readonly title: string;
  /** Dotted path of the state that it shows; the chart's id stands for the whole chart. */
  readonly of: string;
  /** The file with this part, which also has its drawing in the leading comment. */
  readonly source: string;
}

export const charts: readonly ListedChart[] = [
  listed(
    serverMachine,
    ['server.connection', 'Connection', 'connection', 'server/connection'],
    ['server.parked', 'Without a session', 'connection.parked', 'server/parked'],
    ['server.engaged', 'To run: a permit, then a session', 'connection.engaged', 'server/engaged'],
    ['server.activity', 'Activity', 'activity', 'server/activity'],
    ['server.catalog', 'Catalog', 'catalog', 'server/catalog'],
    ['server.circuit', 'Circuit', 'circuit', 'server/circuit'],
  ),
  listed(
    sessionMachine,
    ['session', 'Session', 'session', 'session/session'],
    ['session.opening', 'How it opens', 'opening', 'session/opening'],
    ['session.open', 'While it is open', 'open', 'session/open'],
    ['session.watch', 'Its health checks', 'open.watch', 'session/health'],
  ),
  listed(refreshMachine, ['refresh', 'Refresh of a list', 'refresh', 'session/list-refresh']),
  listed(troupeMachine, ['troupe', 'The root', 'troupe', 'troupe/troupe']),
  listed(handoverMachine, ['handover', 'A handover', 'handover', 'troupe/handover']),
  listed(slotsMachine, ['slots', 'The start permits', 'slots', 'slots']),
  listed(
    authorizationMachine,
    ['authorization', 'A login', 'authorization', 'authorization/authorization'],
    ['authorization.signingIn', 'A user logs in', 'signingIn', 'authorization/signing-in'],
    ['authorization.unauthorized', 'Without a token', 'unauthorized', 'authorization/unauthorized'],
  ),
  listed(permissionMachine, ['permission', 'The permission of a call', 'permission', 'permission']),
  listed(questionMachine, ['question', 'A question of a server', 'question', 'question']),
  listed(retentionMachine, ['retention', 'What is kept for its user', 'retention', 'retention']),
  listed(leaseMachine, ['lease', 'A lease of a process', 'lease', 'lease']),
  listed(attachmentMachine, [
    'attachment',
    'A connection to a shared troupe',
    'attachment',
    'attachment',
  ]),
  listed(throttleMachine, ['throttle', 'A throttle of signals', 'throttle', 'throttle']),
  listed(recordFileMachine, ['recordFile', 'A stored file', 'recordFile', 'record-file']),
];

function listed(
  machine: AnyStateMachine,
  ...pictures: readonly (readonly [name: string, title: string, of: string, source: string])[]
): ListedChart {
  return {
    machine,
    chart: `${machine.id}Machine`,
    pictures: pictures.map(([name, title, of, source]) => ({
      name,
      title,
      of,
      source: `machines/${source}.ts`,
    })),
  };
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

/** The options of a picture, with these parts unfolded. */
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
