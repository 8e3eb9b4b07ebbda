import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { approvalLines } from '../../../src/cli/ask/approval-lines.ts';
import { runCliHere } from '../run-cli.ts';
import { approvalOf, createStandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const pending = statusOf('gated', { state: 'blocked', reason: 'pendingApproval' });

/** A running troupe with one server that needs approval. */
async function waiting(more: Parameters<typeof approvalOf>[1] = {}) {
  const troupe = createStandIn({
    servers: [pending],
    approvals: [approvalOf('gated', more)],
    onSend: (event, own) => {
      if (event.type === 'approval.grant') own.become(statusOf('gated', { state: 'connecting' }));
    },
  });
  const { folder } = await upHere(troupe);
  return { troupe, folder };
}

describe('an approval request', () => {
  it('is never cut', () => {
    const arg = 'x'.repeat(4_000);
    expect(approvalLines(approvalOf('db', { args: [arg] })).join('\n')).toContain(`"${arg}"`);
  });

  it('contains no invisible, direction or control characters in any field', () => {
    const evil = 'a\u001b[2K\u202e\u200b\u{e0041}\r\n\u0007\ufe0f\u00a0"\\z';
    const lines = approvalLines(
      approvalOf(evil, {
        command: evil,
        args: [evil],
        executable: evil,
        cwd: evil,
        url: evil,
        host: evil,
        envFile: evil,
        envFileNames: [evil],
        values: [
          { field: `env.${evil}`, text: evil },
          {
            field: `headers.${evil}`,
            text: evil,
            from: [{ kind: 'environment', reference: evil }],
          },
          { field: evil, from: [{ kind: 'command', reference: evil }] },
        ],
        warnings: [evil],
        changes: [{ field: evil, before: evil, now: `${evil}!` }],
        toolChanges: [{ tool: evil, diff: [`- ${evil}`] }],
        source: { file: evil, key: evil, scope: 'project' },
      }),
    );
    expect(lines.join('')).toMatch(/^[\u0020-\u007e]*$/u);
    expect(lines.find((line) => line.startsWith('runs'))).toBe(
      `runs         ${[1, 2].map(() => String.raw`"a\u{1b}[2K\u{202e}\u{200b}\u{e0041}\u{d}\u{a}\u{7}\u{fe0f}\u{a0}\"\\z"`).join(' ')}`,
    );
  });

  it('shows where each environment variable goes, and the project’s values in full', () => {
    const lines = approvalLines(
      approvalOf('db', {
        values: [
          {
            field: 'headers.X-Client-Version',
            text: '${AWS_SECRET_ACCESS_KEY}',
            from: [{ kind: 'environment', reference: '${AWS_SECRET_ACCESS_KEY}' }],
          },
          {
            field: 'env.DB_URL',
            text: 'postgres://${USER}:${input:pw}@db',
            from: [
              { kind: 'environment', reference: '${USER}' },
              { kind: 'input', reference: '${input:pw}' },
            ],
          },
          { field: 'env.npm_config_registry', text: 'http://evil.example' },
          { field: 'env.HIDDEN' },
          { field: 'args[1]', text: '${X}', from: [{ kind: 'environment', reference: '${X}' }] },
        ],
      }),
    );
    expect(lines.filter((line) => /^(?:variable|header|setting) /u.test(line))).toEqual([
      'header       X-Client-Version from ${AWS_SECRET_ACCESS_KEY} (your environment)',
      'variable     DB_URL is "postgres://${USER}:${input:pw}@db", from ${USER} (your environment), ${input:pw} (you are asked)',
      'variable     npm_config_registry is "http://evil.example"',
      'variable     HIDDEN is set to a text that is not shown',
      'setting      args[1] from ${X} (your environment)',
    ]);
  });

  it('lists the changes since the approval', () => {
    const changes = [
      { field: 'args[0]', before: '--read-only', now: '--write' },
      { field: 'args[1]', now: 'x' },
      { field: 'args[2]', before: 'y' },
      { field: 'env.KEY', before: '', now: '' },
      { field: 'env.NEW', now: '' },
      { field: 'env.OLD', before: '' },
    ];
    const lines = approvalLines(approvalOf('db', { because: 'changed', changes }));
    expect(lines).toContain('asked        it differs from what was approved');
    expect(lines.filter((line) => line.startsWith('changed'))).toEqual([
      'changed      args[0]: "--read-only" became "--write"',
      'changed      args[1] is new: "x"',
      'changed      args[2] is gone: "y"',
      'changed      env.KEY has another value',
      'changed      env.NEW is new',
      'changed      env.OLD is gone',
    ]);
  });
});

describe('troupe approve', () => {
  it('lists servers that need approval and exits with 10', async () => {
    const { folder } = await waiting({ because: 'new', warnings: ['mind this'] });
    const run = await runCliHere(['approve'], { folder });
    expect(run.exitCode).toBe(10);
    expect(run.stdout).toContain('asked        it was never approved');
    expect(run.stdout).toContain('warning      mind this');
    expect(run.stdout).toContain('decide: troupe approve gated, or troupe reject gated');
    const json = await runCliHere(['approve', '--json'], { folder });
    expect(json.exitCode).toBe(10);
    expect(JSON.parse(json.stdout)).toMatchObject({ approvals: [{ server: 'gated' }] });
    await runCliHere(['approve', 'gated', '--yes'], { folder });
    const after = await runCliHere(['approve'], { folder });
    expect(after).toMatchObject({ exitCode: 0, stdout: 'nothing needs approval\n' });
  });

  it('decides only about the given fingerprint', async () => {
    const { folder, troupe } = await waiting();
    const old = await runCliHere(['approve', 'gated', '--fingerprint', 'f0'], { folder });
    expect(old.exitCode).toBe(10);
    expect(old.stderr).toContain('changed since it was shown');
    expect(troupe.sent).toEqual([]);
    const now = await runCliHere(['approve', 'gated', '--fingerprint', 'f1'], { folder });
    expect(now.exitCode).toBe(0);
    expect(troupe.sent).toEqual([{ type: 'approval.grant', server: 'gated', fingerprint: 'f1' }]);
  });

  it.each([
    ['y\n', 0, 1],
    ['yes\n', 0, 1],
    ['n\n', 10, 0],
    ['\n', 10, 0],
    ['', 10, 0],
  ])('asks at a terminal; the answer %j gives exit code %i', async (answer, exitCode, count) => {
    const { folder, troupe } = await waiting();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.end(answer);
    const run = await runCliHere(['approve', 'gated'], { folder, stdin, columns: 80 });
    expect(run.stderr).toContain('approve "gated"? [y/N]');
    expect(run.exitCode).toBe(exitCode);
    expect(troupe.sent).toHaveLength(count);
  });

  it.each([[[]], [['--json']]])('rejects the command without a terminal (%j)', async (more) => {
    const { folder, troupe } = await waiting();
    const run = await runCliHere(['approve', 'gated', ...more], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stdout + run.stderr).toContain(
      'troupe approve gated --fingerprint f1, or use --yes',
    );
    expect(troupe.sent).toEqual([]);
    const sure = await runCliHere(['approve', 'gated', '--yes', ...more], { folder });
    expect(sure.exitCode).toBe(0);
    expect(troupe.sent).toHaveLength(1);
  });

  it('does not ask at a terminal with --yes or --fingerprint', async () => {
    const { folder, troupe } = await waiting();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const run = await runCliHere(['approve', 'gated', '--yes'], { folder, stdin, columns: 80 });
    expect(run.exitCode).toBe(0);
    expect(troupe.sent).toHaveLength(1);
  });
});
