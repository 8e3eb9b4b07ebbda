/** Charts as data: the files in `visualizations/charts/json/`, which XState and Stately's editor load. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { and, createActor, createMachine, fromPromise, not, setup, toPromise } from 'xstate';
import { charts } from '../../scripts/charts/chart-list.ts';
import * as machines from '../../src/machines.ts';
import { chartConfig } from '../../src/recorder/chart-json.ts';
import { chartText } from '../../src/testing/chart-text.ts';

describe('the file of a chart', () => {
  it.each(charts.map(({ machine }) => [machine.id, machine] as const))(
    'loads in createMachine as the same chart: %s',
    (id, machine) => {
      const file = new URL(`../../visualizations/charts/json/${id}.json`, import.meta.url);
      const config = JSON.parse(readFileSync(file, 'utf8')) as object;
      expect(config).toEqual(chartConfig(machine));
      expect(chartText(createMachine(config))).toBe(chartText(machine));
    },
  );

  it('is there for every chart that the package exports', () => {
    const exported = Object.values(machines).map(({ id }) => id);
    expect(exported.toSorted()).toEqual(charts.map(({ machine }) => machine.id).toSorted());
  });
});

describe('a chart as data', () => {
  it('names functions, also those made of others, and leaves out what only they compute', () => {
    const chart = setup({
      types: { input: {} as { readonly n: number }, context: {} as { readonly n: number } },
      guards: { isFull: () => true, isOver: () => false },
      actions: { warn: () => undefined },
    }).createMachine({
      id: 'cup',
      context: ({ input }) => input,
      on: {
        pour: { guard: and(['isFull', not('isOver')]), actions: 'warn' },
        drink: {
          actions: function sip() {
            return undefined;
          },
        },
      },
    });
    expect(chartConfig(chart)).toEqual({
      id: 'cup',
      on: {
        pour: { guard: { type: 'isFull and not isOver' }, actions: 'warn' },
        drink: { actions: { type: 'sip' } },
      },
    });
  });
});

describe('an exported chart', () => {
  it("runs under XState's createActor with provided actors, as the documents show", async () => {
    const consult = fromPromise<machines.QuestionReply, { readonly id: string }>(() =>
      Promise.resolve({ action: 'accept', fault: null }),
    );
    const question = createActor(machines.questionMachine.provide({ actors: { consult } }), {
      input: { id: 'q1', isOfCaller: true, timeoutMs: 60_000 },
    }).start();
    await toPromise(question);
    expect(question.getSnapshot().value).toBe('accepted');
  });
});
