import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPlainLine } from '../../src/cli/fast-start.ts';
import { runCli } from '../../src/cli/program.ts';
import type { ServerLogLine } from '../../src/domain/server-log.ts';
import { type CliSetting, runCliHere } from './run-cli.ts';
import { createStandIn, statusOf, toolOf } from './stand-in-troupe.ts';
import { upHere } from './up-here.ts';

const line: ServerLogLine = {
  number: 1,
  at: '2026-01-02T03:04:05.000Z',
  session: 1,
  stream: 'stderr',
  line: 'ready',
};

/** A running troupe, and a function that runs a line in both ways. */
async function running() {
  const troupe = createStandIn({
    servers: [statusOf('db'), statusOf('my.api', { state: 'failed' })],
    tools: [toolOf('db', 'query'), toolOf('my.api', 'get')],
    logs: new Map([['db', [line]]]),
  });
  const { folder } = await upHere(troupe);
  const seen = async (argv: readonly string[], setting: CliSetting) => {
    const { exitCode, stdout, stderr } = await runCliHere(argv, setting);
    // The troupe may have become a second older.
    return { exitCode, stdout: stdout.replace(/since \S+/gu, 'since'), stderr };
  };
  return async (argv: readonly string[]) => ({
    plain: await seen(argv, { folder }),
    whole: await seen(argv, { folder, runner: runCli }),
  });
}

describe('a plain line', () => {
  it.each([
    [['--version'], 0],
    [['status'], 0],
    [['list', '--json'], 0],
    [['status', 'db', '--json'], 0],
    [['status', '--problems'], 0],
    [['status', 'nobody'], 2],
    [['status', 'db', '--problems'], 2],
    [['tools'], 0],
    [['tools', 'db'], 0],
    [['tools', 'db', 'query', '--json'], 0],
    [['tools', '--search', 'query'], 0],
    [['tools', 'db', 'qeury'], 2],
    [['logs', 'db', '--lines=1'], 0],
    [['logs', 'nobody', '--json'], 2],
    [['call', 'db', 'query', 'text=hi'], 0],
    [['call', 'my.api.get', '--args', '{"text":"hi"}', '--json'], 0],
    [['call', 'db', 'query', '--timeout', '5'], 0],
    [['call', 'db', 'query', '--args', '{'], 2],
    [['call', 'db'], 2],
    [['status', '--state-dir', 'elsewhere'], 3],
    [['status', '--config', 'other.json', '--json'], 2],
  ] as const)('%j prints what the whole program prints', async (argv, exitCode) => {
    const { plain, whole } = await (await running())(argv);
    expect(plain).toEqual(whole);
    expect(plain.exitCode).toBe(exitCode);
    const isRead = argv[0] === '--version' || readPlainLine(argv) !== undefined;
    expect(isRead).toBe(true);
  });

  it('is read as the whole program reads it, whatever its words are', async () => {
    const run = await running();
    const word = fc.constantFrom(
      ...[
        'db',
        'my.api',
        'query',
        'my.api.get',
        'text=hi',
        '',
        '-',
        '--',
        '-1',
        '--json',
        '--bare',
      ],
      ...['--timeout', '5', '--timeout=5', '--timeout=x', '--args', '{"text":"hi"}', '--args={}'],
      ...['--lines', '--lines=2', '--search', '--problems', '--allow', '--allow=', '--no-json'],
      ...['--config=a.json', '--state-dir=', '--trust=1', '--help', '-h', '--version'],
    );
    const command = fc.constantFrom('call', 'status', 'list', 'tools', 'logs');
    const words = fc.array(word, { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(command, words, async (name, rest) => {
        const { plain, whole } = await run([name, ...rest]);
        expect(plain).toEqual(whole);
      }),
      { numRuns: 120 },
    );
  });

  it.each([
    ['no command', []],
    ['another command', ['up']],
    ['a flag in front', ['--json', 'status']],
    ['an unknown flag', ['status', '--jsno']],
    ['help', ['status', '--help']],
    ['a missing argument', ['logs']],
    ['too many words', ['status', 'a', 'b']],
    ['a flag that is given twice', ['logs', 'db', '--lines', '1', '--lines', '2']],
    ['an invalid value', ['logs', 'db', '--lines', 'all']],
    ['a value like a flag', ['call', 'db', 'query', '--args', '--json']],
    ['words that are no flags', ['call', 'db', 'query', '--', 'a=1']],
  ])('is left to the whole program with %s', (_what, argv) => {
    expect(readPlainLine(argv)).toBeUndefined();
  });
});
