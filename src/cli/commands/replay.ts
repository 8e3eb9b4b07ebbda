import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ComparedStep, JournalDifference } from '../../domain/host/comparison.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { parsePort } from '../flag-values.ts';
import { showAddress, writeAddressFile } from '../run/address-file.ts';
import { untilStopped } from '../run/stop.ts';

interface Shown {
  readonly open: boolean;
  readonly port: number | undefined;
  readonly compared?: { readonly file: string; readonly difference: JournalDifference };
}

interface ReplayFlags {
  readonly compare?: string;
  readonly open?: true;
  readonly port?: number;
}

/** `replay`: shows a journal in the inspector. */
export const replayCommand: CommandDefinition<ReplayFlags> = {
  usage: 'replay <file>',
  summary: 'show a recorded journal in a browser, moment by moment, without running anything',
  details:
    'Record a journal with troupe up --journal, or save one from the inspector page. ' +
    'The printed link works once, in one browser on this machine. Stop with Ctrl-C. ' +
    'With --compare, prints the first difference to another journal; the exit code is 1 if there is one, ' +
    'and 0 if both are equal. Times, pids, ports and the order between servers are not compared. Add --open ' +
    'or --port to see both journals at that moment.',
  example: 'troupe replay troupe.ndjson --open',
  options: [
    flag('--compare <file>', 'print the first difference to this journal'),
    flag('--open', 'also open it in the browser'),
    flag('--port <port>', 'where to listen (default: any free port)', parsePort),
  ],
  async run(session, [file = ''], { compare, open = false, port }) {
    const { host } = session;
    const pathOf = (name: string): string => path.resolve(host.cwd, name);
    if (compare === undefined) return showJournal(session, pathOf(file), { open, port });
    const { compareJournals } = await import('../../../visualizations/server/compare.ts');
    const comparison = await compareJournals(pathOf(file), pathOf(compare));
    const { difference, records } = comparison;
    const isShown = open || port !== undefined;
    if (!isShown) session.output.document({ equal: difference === undefined, ...comparison });
    session.output.lines(
      difference === undefined
        ? [`equal: ${records.a} and ${records.b} records`]
        : differenceLines(difference, { a: path.basename(file), b: path.basename(compare) }),
    );
    const exitCode = difference === undefined ? 0 : 1;
    if (!isShown || difference === undefined) return exitCode;
    const compared = { file: pathOf(compare), difference };
    return showJournal(session, pathOf(file), { open, port, compared });
  },
};

/** Shows a journal until the command is stopped. */
async function showJournal(
  session: CliSession,
  file: string,
  { open, port, compared }: Shown,
): Promise<number> {
  const { host, launch } = session;
  // Loaded late: no other command needs it.
  const [{ openJournal }, { startInspector }] = await Promise.all([
    import('../../../visualizations/server/replay-source.ts'),
    import('../../../visualizations/server/inspector-server.ts'),
  ]);
  const inspected = {
    source: await openJournal(file),
    mode: 'replay',
    title: path.basename(file),
    ...(compared === undefined
      ? {}
      : {
          compared: {
            source: await openJournal(compared.file),
            title: path.basename(compared.file),
            difference: compared.difference,
          },
        }),
  } as const;
  const inspector = await startInspector(inspected, defined({ port }));
  return untilStopped(host, async (ended) => {
    try {
      const url = inspector.newAddress();
      const linkFile = open
        ? await writeAddressFile(inspector, url, launch.stateFolder)
        : undefined;
      await showAddress(session, url, linkFile);
      return await ended;
    } finally {
      inspector.close();
    }
  });
}

function differenceLines(
  { actor, before, a, b, within }: JournalDifference,
  names: { readonly a: string; readonly b: string },
): readonly string[] {
  const at = ({ n, t }: ComparedStep): string => `record ${n} at ${(t / 1_000).toFixed(3)} s`;
  const step = (its: ComparedStep | undefined): string =>
    its !== undefined
      ? `${printableLine(its.text, 1_000)} (${at(its)})`
      : within === undefined
        ? 'nothing more'
        : `nothing more within ${within} records`;
  return [
    `first difference: ${printableLine(actor, 200)}`,
    ...(before === undefined ? [] : [`  both: ${step(before)}`]),
    `  ${names.a}: ${step(a)}`,
    `  ${names.b}: ${step(b)}`,
  ];
}
