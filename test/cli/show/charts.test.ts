import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import { leaseMachine } from '../../../machines/lease.ts';
import { chartText } from '../../../src/testing/chart-text.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

const run = (...words: readonly string[]) =>
  runCliHere(['charts', ...words], { folder: temporaryFolder() });

describe('troupe charts', () => {
  it('lists the charts without a troupe and without settings', async () => {
    const { exitCode, stdout } = await run();
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^lease +6 +\d+$/m)]);
    const { charts } = JSON.parse((await run('--json')).stdout) as { charts: { name: string }[] };
    expect(charts.map(({ name }) => name)).toContain('server');
  });

  it('prints a chart as text and as a Mermaid diagram', async () => {
    expect((await run('lease')).stdout).toBe(`${chartText(leaseMachine)}\n`);
    expect((await run('lease', '--format', 'mermaid')).stdout).toMatch(/^stateDiagram-v2\n/);
  });

  it('prints what XState and Stately load', async () => {
    const { stdout } = await run('lease', '--format', 'xstate');
    const loaded = createMachine(JSON.parse(stdout) as object);
    expect(chartText(loaded)).toBe(chartText(leaseMachine));
    const module = (await run('lease', '--format', 'stately')).stdout;
    const [, config = ''] =
      /^import .*\n\nexport const leaseMachine = createMachine\(([^]*)\);\n$/.exec(module) ?? [];
    expect(JSON.parse(config)).toEqual(JSON.parse(stdout));
  });

  it('lists the states and transitions of a chart', async () => {
    const { stdout } = await run('lease', '--format', 'json');
    const { states, transitions } = JSON.parse(stdout) as Record<string, readonly unknown[]>;
    expect(states).toContainEqual(expect.objectContaining({ path: 'held' }));
    expect(transitions).toContainEqual({
      source: 'held',
      event: 'process.replaced',
      targets: ['moving'],
      actions: [],
    });
  });

  it('says which chart a wrong name may mean', async () => {
    for (const words of [['sesion'], ['session.open'], ['sesion', '--format', 'svg']]) {
      const { exitCode, stderr } = await run(...words);
      expect([words, exitCode]).toEqual([words, 2]);
      expect(stderr).toContain('session');
    }
  });
});
