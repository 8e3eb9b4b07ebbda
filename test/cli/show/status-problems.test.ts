import { describe, expect, it } from 'vitest';
import { runCliHere } from '../run-cli.ts';
import { createStandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

describe('status --problems', () => {
  it('lists the servers that need attention, worst first, and exits with 0', async () => {
    const servers = [
      statusOf('a', { state: 'backingOff', reason: 'retrying' }),
      statusOf('b', { state: 'blocked', reason: 'pendingApproval' }),
      statusOf('c'),
      statusOf('d', { state: 'dormant' }),
      statusOf('e', { circuit: 'open' }),
      statusOf('f', { state: 'failed', reason: 'attemptsExhausted' }),
      statusOf('g', { state: 'connecting' }),
      statusOf('h', { state: 'authRequired' }),
      statusOf('i', { state: 'stopped', action: 'troupe start i' }),
      statusOf('j', { state: 'suspended', reason: 'crashLoop' }),
      statusOf('k', { state: 'degraded', reason: 'healthCheck' }),
      statusOf('l', { state: 'disabled', action: 'set "enabled": true' }),
      statusOf('m', { action: 'troupe approve m: a tool that changed is withheld' }),
    ];
    const { folder } = await upHere(createStandIn({ servers }));
    const json = await runCliHere(['status', '--problems', '--json'], { folder });
    expect(json.exitCode).toBe(0);
    const document = JSON.parse(json.stdout) as { servers: { name: string }[] };
    expect(document.servers.map(({ name }) => name).join('')).toBe('fjhbekma');
    const text = await runCliHere(['status', '--problems'], { folder });
    expect(text.exitCode).toBe(0);
    expect(text.stdout.split('\n')[0]).toContain(' (3 ready, 1 failed, 1 suspended');
    expect(text.stdout.split('\n').slice(2, -1).join('\n')).toMatch(
      /^f .*\nj .*\nh .*\nb .*\ne .*\nk .*\nm .*\na .*$/,
    );
  });

  it('says when no server needs attention, and still shows problems of the settings', async () => {
    const problems = [{ file: '/t.json', line: 1, message: 'the text is empty' }];
    const { folder } = await upHere(createStandIn({ servers: [statusOf('db')], problems }));
    const run = await runCliHere(['status', '--problems'], { folder });
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout.split('\n').slice(1)).toEqual([
      'no server needs attention',
      'settings: /t.json:1: the text is empty',
      '',
    ]);
  });

  it('does not take a name as well', async () => {
    const { folder } = await upHere();
    const run = await runCliHere(['status', 'db', '--problems'], { folder });
    expect(run).toMatchObject({ exitCode: 2 });
    expect(run.stderr).toContain('leave out the name');
  });
});

describe('what servers use', () => {
  it('is read for one server and for --json, and not for the table', async () => {
    let askedCount = 0;
    const troupe = createStandIn({ servers: [statusOf('db', { pid: 4_711 }), statusOf('web')] });
    troupe.usage = () => {
      askedCount += 1;
      const memory = { bytes: 71_400_000, processCount: 2 };
      return Promise.resolve([
        { server: 'db', calls: 12, memory },
        { server: 'web', calls: 0 },
      ]);
    };
    const { folder } = await upHere(troupe);
    await runCliHere(['status'], { folder });
    expect(askedCount).toBe(0);
    const one = await runCliHere(['status', 'db'], { folder });
    expect(one.stdout).toMatch(/^calls +12\npid +4711\nmemory +71 MB in 2 processes$/mu);
    const json = await runCliHere(['status', '--json'], { folder });
    const { servers } = JSON.parse(json.stdout) as { servers: { usage: unknown }[] };
    expect(servers.map(({ usage }) => usage)).toEqual([
      { calls: 12, memory: { bytes: 71_400_000, processCount: 2 } },
      { calls: 0 },
    ]);
  });

  it('is left out where the running troupe is too old to know', async () => {
    const troupe = createStandIn({ servers: [statusOf('db')] });
    troupe.usage = () => Promise.reject(new Error('unknown command'));
    const { folder } = await upHere(troupe);
    const run = await runCliHere(['status', 'db'], { folder });
    expect(run).toMatchObject({ exitCode: 0, stderr: '' });
    expect(run.stdout).not.toMatch(/^(?:calls|memory)/mu);
  });
});
