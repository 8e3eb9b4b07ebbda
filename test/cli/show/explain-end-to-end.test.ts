import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../../src/domain/host/explanation.ts';
import type { ServerLogLine } from '../../../src/domain/server-log.ts';
import { createPlace } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';

// Starts four Node processes one after another, a second each on a busy machine.
const secret = 'hunter2-very-secret';
const dying = `
  process.stdout.write('booting\\nstill booting\\n');
  process.stderr.write('no config; token ' + process.env.API_TOKEN + '\\n', () => process.exit(3));
`;

const cli = compiledCli();

describe('a server that crashes', () => {
  it('is explained with its exit code and last output, and has a log', async () => {
    const place = createPlace(cli);
    place.writeSettings({
      db: {
        command: process.execPath,
        args: ['-e', dying],
        env: { [place.mark]: '1', API_TOKEN: secret },
      },
    });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/db failed/);
    const told = await place.run('explain', 'db');
    expect(told).toMatchObject({ exitCode: 0, stderr: '' });
    expect(told.stdout).toMatch(
      /^db is failed \(sameFailure\) for \d+s. It failed the same way three times: /,
    );
    expect(told.stdout.replaceAll(/\s+/gu, ' ')).toContain(
      ` Next: provide what is missing or fix ${place.settings}:3, then troupe restart db `,
    );
    expect(told.stdout).toMatch(/\nexit +code 3\n/);
    expect(told.stdout).toContain('\n  | no config; token [redacted]\n');
    const json = await place.run('explain', 'db', '--json');
    const explanation = JSON.parse(json.stdout) as Explanation;
    expect(explanation).toMatchObject({
      status: { state: 'failed' },
      decision: { guard: 'hasFailedAlike', table: 'connection.parked.failed.choosing' },
      lastFailure: { kind: 'crashed', exitCode: 3, stderrTail: ['no config; token [redacted]'] },
      admission: { verdict: 'admitted', source: { file: place.settings, line: 3 } },
      // The same exit three times, so that the other two attempts are spared.
      budgets: { attempts: { used: 3, max: 5 }, sameExits: { used: 3, max: 3 } },
    });
    expect(
      explanation.attempts.map(({ attempt, failure }) => [attempt, failure?.exitCode]),
    ).toEqual([1, 2, 3].map((attempt) => [attempt, 3]));
    const log = await place.run('logs', 'db', '--json');
    const { lines } = JSON.parse(log.stdout) as { lines: readonly ServerLogLine[] };
    const ofFirst = lines.filter(({ session }) => session === 1);
    expect(ofFirst).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ stream: 'stderr', line: 'no config; token [redacted]' }),
        expect.objectContaining({ stream: 'stdout', line: 'still booting' }),
        expect.objectContaining({
          stream: 'troupe',
          line: expect.stringMatching(/^did not start: /) as string,
        }),
      ]),
    );
    expect([told.stdout, json.stdout, log.stdout].join('')).not.toContain(secret);
    up.child.kill('SIGTERM');
    await up.ended;
    await place.isEmpty();
  });
});
