/** A project file from its creation to its removal, as seen by the user who approves its server. */

import { describe, expect, it } from 'vitest';
import { type CliProcess, createPlace, type Place } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';

const cli = compiledCli();

/** Resolves once the pattern appears in later output. */
function logsNext(up: CliProcess, pattern: RegExp): Promise<RegExpMatchArray> {
  const seen = up.stdout().length;
  return up.printed(new RegExp(`^[^]{${seen}}[^]*?(?:${pattern.source})`));
}

/** Runs an action and resolves once its effect is logged. */
async function causes(up: CliProcess, pattern: RegExp, work: () => unknown): Promise<string[]> {
  const logged = logsNext(up, pattern);
  await work();
  return [...(await logged)];
}

async function waitingIn(place: Place): Promise<{ exitCode: number | null; asked: unknown }> {
  const { exitCode, stdout } = await place.run('approve', '--json');
  const { approvals } = JSON.parse(stdout) as { approvals: { server: string; because: string }[] };
  return { exitCode, asked: approvals.map(({ server, because }) => `${server} ${because}`) };
}

// Starts about twenty processes, one after another, and waits for their output.
describe('a server from a project file', { timeout: 240_000 }, () => {
  it('runs only while its current settings are approved, without affecting other servers', async () => {
    const place = createPlace(cli);
    const project = (mode: string) =>
      place.writeProject({ gated: place.server(mode, { tools: { exclude: ['none'] } }) });
    place.writeSettings({ mine: place.server(), other: place.server('noise') });
    const up = place.start('up', '--config', place.settings);
    const [, mine] = await up.printed(/mine ready: 4 tools, pid (\d+)/);
    const [, other] = await up.printed(/other ready: 4 tools, pid (\d+)/);
    const untouched = [Number(mine), Number(other)].toSorted((a, b) => a - b);
    const running = (): readonly number[] => place.servers().toSorted((a, b) => a - b);
    const waits = /gated blocked \(pendingApproval\) -> troupe approve gated/;
    expect(await waitingIn(place)).toEqual({ exitCode: 0, asked: [] });

    await causes(up, waits, () => project('ok'));
    expect(running()).toEqual(untouched);
    expect(await waitingIn(place)).toEqual({ exitCode: 10, asked: ['gated new'] });
    const [, first] = await causes(up, /gated ready: 4 tools, pid (\d+)/, async () => {
      expect((await place.run('approve', 'gated', '--yes')).exitCode).toBe(0);
    });
    expect(running()).toContain(Number(first));
    expect(await waitingIn(place)).toEqual({ exitCode: 0, asked: [] });

    await causes(up, waits, () => project('modern'));
    expect(running()).toEqual(untouched);
    expect(await waitingIn(place)).toEqual({ exitCode: 10, asked: ['gated changed'] });
    await causes(up, /gated blocked \(rejected\)/, () => place.run('reject', 'gated'));
    expect(running()).toEqual(untouched);
    expect(await waitingIn(place)).toEqual({ exitCode: 0, asked: [] });

    await causes(up, waits, () => project('bom'));
    expect(await waitingIn(place)).toEqual({ exitCode: 10, asked: ['gated changed'] });
    const [, second] = await causes(up, /gated ready: 4 tools, pid (\d+)/, () =>
      place.run('approve', 'gated', '--yes'),
    );
    expect(second).not.toBe(first);
    expect(running()).toHaveLength(3);

    await causes(up, waits, () => place.run('revoke', 'gated'));
    expect(running()).toEqual(untouched);
    expect(await waitingIn(place)).toEqual({ exitCode: 10, asked: ['gated revoked'] });
    expect(up.stdout().match(/^\S* ?(?:mine|other) ready/gmu) ?? []).toHaveLength(2);
    up.child.kill('SIGTERM');
    await up.ended;
    await place.isEmpty();
  });
});
