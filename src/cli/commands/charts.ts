import type { AnyStateMachine } from 'xstate';
import { usageError } from '../../domain/user-errors.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { type CommandDefinition, flag } from '../command.ts';
import { fitTable } from '../show/table.ts';

interface ChartsFlags {
  readonly format?: Format;
}

const formats = ['text', 'mermaid', 'svg', 'json', 'xstate', 'stately'] as const;
type Format = (typeof formats)[number];

/** `charts`: prints the charts themselves, without a troupe. */
export const chartsCommand: CommandDefinition<ChartsFlags> = {
  usage: 'charts [name]',
  summary: 'list the statecharts, or print one for reading, drawing or loading elsewhere',
  details:
    'Needs no troupe and no settings. text and mermaid are for reading, svg is the picture of the inspector; json lists states and transitions; ' +
    "xstate is the configuration for XState's createMachine, with names instead of functions; stately is the same as a module that Stately's editor opens.",
  example: 'troupe charts session --format mermaid',
  options: [
    {
      ...flag('--format <format>', 'how to print it (default: text)'),
      choices: formats,
    },
  ],
  async run({ output }, [name], { format = 'text' }) {
    const charts = await allCharts();
    if (name === undefined) {
      const rows = await Promise.all([...charts].map(([, chart]) => factsOf(chart)));
      output.document({
        charts: rows.map(({ id, states, transitions }) => ({
          name: id,
          states: states.length,
          transitions: transitions.length,
        })),
      });
      const columns = [{ title: 'CHART' }, { title: 'STATES' }, { title: 'TRANSITIONS' }];
      const cells = rows.map(({ id, states, transitions }) =>
        [id, String(states.length), String(transitions.length)].map((text) => ({ text })),
      );
      output.lines(fitTable({ columns, rows: cells }, output.width));
      return;
    }
    const [id = ''] = name.split('.');
    const chart = charts.get(id);
    if (chart === undefined || (name !== id && format !== 'svg'))
      throw usageError(
        `There is no chart ${name}. ${nameHint(name, [...charts.keys()], 'See: troupe charts')}`,
      );
    const made = format === 'svg' ? await pictureOf(name) : await printed[format](chart);
    output.document(typeof made === 'string' ? { name, format, text: made } : made);
    output.lines((typeof made === 'string' ? made : JSON.stringify(made, null, 2)).split('\n'));
  },
};

async function allCharts(): Promise<ReadonlyMap<string, AnyStateMachine>> {
  const machines: Readonly<Record<string, AnyStateMachine>> = await import('../../machines.ts');
  return new Map(Object.values(machines).map((machine) => [machine.id, machine]));
}

const printed: Readonly<
  Record<Exclude<Format, 'svg'>, (chart: AnyStateMachine) => Promise<object | string>>
> = {
  text: async (chart) => (await import('../../testing/chart-text.ts')).chartText(chart),
  mermaid: async (chart) => (await import('../../testing/chart-mermaid.ts')).chartMermaid(chart),
  json: factsOf,
  xstate: configOf,
  stately: async (chart) => {
    const config = JSON.stringify(await configOf(chart), null, 2);
    return `import { createMachine } from 'xstate';\n\nexport const ${chart.id}Machine = createMachine(${config});`;
  },
};

async function configOf(chart: AnyStateMachine): Promise<object> {
  return (await import('../../recorder/chart-json.ts')).chartConfig(chart);
}

/** The states and transitions of a chart, as lists. */
async function factsOf(chart: AnyStateMachine) {
  const parts = await import('../../testing/chart-parts.ts');
  const states = parts.statesOf(chart);
  const namesOf = (actions: readonly unknown[]) => actions.flatMap((it) => parts.nameOf(it) ?? []);
  return {
    id: chart.id,
    states: states.map((state) => ({
      path: parts.pathOf(state),
      type: state.type,
      tags: [...state.tags],
      entry: namesOf(state.entry),
      exit: namesOf(state.exit),
      invokes: state.invoke.map(({ id }) => id),
    })),
    transitions: states.flatMap(parts.transitionsOf).map((transition) => ({
      source: parts.pathOf(transition.source),
      event: parts.triggerOf(transition),
      ...(transition.guard !== undefined && { guard: parts.guardText(transition.guard) }),
      targets: parts.targetsOf(transition).map(parts.pathOf),
      actions: namesOf(transition.actions),
    })),
  };
}

/** The picture of a chart, or of a part that has one of its own. */
async function pictureOf(name: string): Promise<string> {
  const { readPageFiles } = await import('../../../visualizations/server/page-files.ts');
  const files = await readPageFiles();
  const picture = files.get(`/charts/${name}.svg`);
  if (picture !== undefined) return picture.body.toString('utf8');
  const pictures = [...files.keys()].flatMap(
    (path) => /^\/charts\/([\w.]+)\.svg$/.exec(path)?.[1] ?? [],
  );
  const whole = pictures.filter((each) => !/\.(?:narrow|overview)$/.test(each));
  const [id = ''] = name.split('.');
  const parts = whole.filter((each) => each.startsWith(`${id}.`));
  throw usageError(
    parts.length === 0
      ? 'the pictures are not built; run: npm run build'
      : `${id} is drawn in parts; name one of ${parts.join(', ')}`,
  );
}
