import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createPermissionPrompt } from '../../../src/cli/ask/permission.ts';
import type { CliHost } from '../../../src/cli/cli-host.ts';
import { Output } from '../../../src/cli/show/output.ts';
import { TroupeError } from '../../../src/index.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, reportOf, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const question = { server: 'db', tool: 'query', arguments: { sql: 'select 1' } };

function terminal(isTTY: boolean, json = false) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const host = { stdin, stderr, stdout: stderr, env: {} } as unknown as CliHost;
  let shown = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const prompt = createPermissionPrompt({ host, output: new Output(host, json) });
  return { stdin, prompt, shown: () => shown };
}

const typed = (line: string) =>
  Object.assign(new PassThrough(), { isTTY: true }).end(`${line}\r`) as unknown as PassThrough;

/** A fake troupe whose calls need the user's permission. */
function guarded() {
  return createStandIn({
    servers: [statusOf('db', { state: 'ready' })],
    answer: async (_args, options) => {
      const request = { ...question, name: 'mcp__db__query', isTrusted: false };
      const { signal } = new AbortController();
      const said = await options.askPermission?.(request, { signal });
      if (said === 'allowTool') return reportOf('allowed');
      throw new TroupeError('PERMISSION_DENIED', 'No.', { retryable: said === undefined });
    },
  });
}

describe('the permission prompt', () => {
  it.each([
    ['y', 'allow'],
    ['T', 'allowTool'],
    ['s ', 'allowServer'],
    ['', 'deny'],
    ['n', 'deny'],
    ['whatever|y', 'allow'],
    ['yes', 'allow'],
  ])('reads %j as %s', async (line, answer) => {
    const { prompt, stdin, shown } = terminal(true);
    const asked = prompt?.(question, new AbortController());
    // Any other text is asked about again.
    for (const each of line.split('|')) stdin.write(`${each}\r`);
    expect(await asked).toBe(answer);
    expect(shown()).toContain('Allow db to run query?');
    expect(shown()).toContain('{"sql":"select 1"}');
  });

  it('shows both ends of long arguments and how much is missing, or all of them on request', async () => {
    const { prompt, stdin, shown } = terminal(true);
    const sql = `select 1 -- ${'x'.repeat(5_000)}\u202e; drop table users`;
    const asked = prompt?.({ ...question, arguments: { sql } }, new AbortController());
    await new Promise(setImmediate);
    expect(shown()).toContain('{"sql":"select 1 -- xxx');
    expect(shown()).toMatch(/\[…3,\d{3} more characters…\]/u);
    expect(shown()).toContain('; drop table users"}');
    expect(shown()).not.toContain('x'.repeat(5_000));
    expect(shown()).toContain('a = show all arguments, y = yes');
    stdin.write('a\r');
    await new Promise((resolve) => setImmediate(resolve));
    expect(shown()).toContain(`${'x'.repeat(5_000)}\\u{202e}; drop table users`);
    stdin.write('y\r');
    expect(await asked).toBe('allow');
  });

  it('denies the call when the terminal closes or the call has ended', async () => {
    const gone = terminal(true);
    const asked = gone.prompt?.(question, new AbortController());
    gone.stdin.end();
    expect(await asked).toBe('deny');
    const over = terminal(true);
    const controller = new AbortController();
    const late = over.prompt?.(question, controller);
    controller.abort();
    expect(await late).toBe('deny');
  });

  it('is not shown without a terminal or with --json', () => {
    expect(terminal(false).prompt).toBeUndefined();
    expect(terminal(true, true).prompt).toBeUndefined();
  });
});

describe('troupe call', () => {
  it('asks at the terminal and uses the answer', async () => {
    const stdin = typed('t');
    const setting = { folder: temporaryFolder(), troupe: guarded(), stdin, columns: 80 };
    const run = await runCliHere(['call', 'db', 'query'], setting);
    expect(run).toMatchObject({ exitCode: 0, stdout: 'allowed\n' });
  });

  it('asks on behalf of a running troupe, which has no terminal of its own', async () => {
    const troupe = guarded();
    const { folder } = await upHere(troupe);
    const run = await runCliHere(['call', 'db', 'query'], {
      folder,
      stdin: typed('t'),
      columns: 80,
    });
    expect(run).toMatchObject({ exitCode: 0, stdout: 'allowed\n' });
    expect(troupe.calls).toHaveLength(2);
  });

  it('rejects the call when the user says no or cannot be asked', async () => {
    const troupe = guarded();
    const { folder } = await upHere(troupe);
    const no = await runCliHere(['call', 'db', 'query'], {
      folder,
      stdin: typed('n'),
      columns: 80,
    });
    expect(no.exitCode).toBe(7);
    const unattended = await runCliHere(['call', 'db', 'query'], { folder });
    expect(unattended.exitCode).toBe(7);
    expect(unattended.stderr).toContain('No.');
  });
});
