import { describe, expect, it } from 'vitest';
import { runCliHere, temporaryFolder } from './run-cli.ts';
import { createStandIn, reportOf, statusOf, toolOf } from './stand-in-troupe.ts';
import { upHere } from './up-here.ts';

describe('a line without a command', () => {
  it('lists tools for a server, and calls for a tool, without the name of a command', async () => {
    const {
      folder,
      run: up,
      troupe,
    } = await upHere(
      createStandIn({
        servers: [statusOf('db', { tools: 1 })],
        tools: [toolOf('db', 'echo', { properties: { count: { type: 'number' } } })],
        answer: () => Promise.resolve(reportOf('hello')),
      }),
    );
    const listed = await runCliHere(['db'], { folder });
    expect(listed).toMatchObject({ exitCode: 0, stdout: 'echo(count?: number)\n' });
    for (const words of [
      ['db.echo', 'count=3'],
      ['db', 'echo', '3'],
      ['db.echo', '--args', '{"count":3}'],
    ])
      expect(await runCliHere(words, { folder })).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
    expect(troupe.calls.map(({ server, tool, args }) => [server, tool, args])).toEqual(
      Array.from({ length: 3 }, () => ['db', 'echo', { count: 3 }]),
    );
    const typo = await runCliHere(['dbb'], { folder });
    expect(typo.stderr).toBe("troupe: unknown command 'dbb'; did you mean db?\n");
    const tool = await runCliHere(['dbb.echo', '3'], { folder });
    expect(tool.stderr).toContain('There is no server dbb. Did you mean db?');
    expect([typo.exitCode, tool.exitCode]).toEqual([2, 2]);
    up.signal('SIGTERM');
  });
});

describe('without settings', () => {
  it.each(['plan', 'check', 'tools', 'call db echo'])(
    'says where to get servers when %s finds no settings',
    async (line) => {
      const place = { folder: temporaryFolder(), troupe: createStandIn() };
      const run = await runCliHere(line.split(' '), place);
      expect(run.stdout + run.stderr).toContain(
        'no servers yet: run troupe init to use those of your editors, or add one to ',
      );
    },
  );
});
