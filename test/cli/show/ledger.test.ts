import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ledgerFile } from '../../../actors/stores/ledger.ts';
import type { CallRecord } from '../../../src/domain/call-record.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

/** A ledger with these calls, of the project unless they name another. */
function written(...calls: { [Key in keyof CallRecord]?: CallRecord[Key] | undefined }[]) {
  const folder = temporaryFolder();
  const stateDir = path.join(folder, 'state');
  mkdirSync(stateDir);
  const records = calls.map((call) => ({
    time: '2026-01-02T03:04:05.000Z',
    project: folder,
    client: 'host',
    server: 'db',
    method: 'tools/call',
    tool: 'query',
    outcome: 'executed',
    durationMs: 12,
    argumentsBytes: 16,
    argumentsSha256: 'a'.repeat(64),
    resultBytes: 47,
    ...call,
  }));
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  if (calls.length > 0) writeFileSync(ledgerFile(stateDir), text);
  const run = (...words: string[]) =>
    runCliHere(['ledger', ...words, '--project', folder, '--state-dir', stateDir], { folder });
  const listed = async (...words: string[]): Promise<readonly (string | undefined)[]> => {
    const { stdout } = await run('--json', ...words);
    return (JSON.parse(stdout) as { calls: CallRecord[] }).calls.map(({ tool }) => tool);
  };
  return { run, listed, records, file: ledgerFile(stateDir) };
}

describe('troupe ledger', () => {
  it('lists calls, oldest first, with what is known of their ends', async () => {
    const { run, records } = written(
      {},
      { client: 'editor', user: 'ada', isError: true },
      { outcome: 'unknown', code: 'TIMEOUT', resultBytes: undefined },
      { method: 'resources/read', tool: undefined, outcome: 'unknown' },
      { outcome: 'not_executed', code: 'RATE_LIMITED', server: '\u001b[31mred' },
    );
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(0);
    expect(stdout.split('\n').map((line) => line.replaceAll(/ {2,}/gu, ' | '))).toEqual([
      'TIME | CLIENT | SERVER | CALL | RESULT | TOOK | SENT | RECEIVED',
      '2026-01-02T03:04:05.000Z | host | db | query | ok | 12ms | 16 | 47',
      '2026-01-02T03:04:05.000Z | ada (editor) | db | query | tool error | 12ms | 16 | 47',
      '2026-01-02T03:04:05.000Z | host | db | query | TIMEOUT, unknown | 12ms | 16',
      '2026-01-02T03:04:05.000Z | host | db | resources/read | question | 12ms | 16 | 47',
      '2026-01-02T03:04:05.000Z | host | red | query | RATE_LIMITED, not executed | 12ms | 16 | 47',
      '',
    ]);
    const { stdout: json } = await run('--json');
    expect(JSON.parse(json)).toEqual({
      calls: JSON.parse(JSON.stringify(records)) as unknown,
      unreadable: 0,
    });
  });

  it('chooses by client or user, by server, and by age or time', async () => {
    const { listed } = written(
      { tool: 'a', client: 'editor' },
      { tool: 'b', client: 'editor', user: 'ada', server: 'web' },
      { tool: 'c', time: new Date(Date.now() - 60_000).toISOString() },
    );
    expect(await listed('--client', 'editor')).toEqual(['a', 'b']);
    expect(await listed('--client', 'ada')).toEqual(['b']);
    expect(await listed('--server', 'db')).toEqual(['a', 'c']);
    expect(await listed('--server', 'db', '--client', 'ada')).toEqual([]);
    expect(await listed('--since', '1h')).toEqual(['c']);
    expect(await listed('--since', '30s')).toEqual([]);
    expect(await listed('--since', '2026-01-02T03:04:05Z')).toEqual(['a', 'b', 'c']);
    expect(await listed('--since', '2026-01-02T03:04:06Z')).toEqual(['c']);
  });

  it('shows the last hundred calls, fewer on request, and all since a time', async () => {
    const { listed } = written(...Array.from({ length: 150 }, (_, at) => ({ tool: `t${at}` })));
    expect(await listed()).toHaveLength(100);
    expect((await listed()).at(-1)).toBe('t149');
    expect(await listed('--lines', '2')).toEqual(['t148', 't149']);
    expect(await listed('--since', '2026-01-01')).toHaveLength(150);
    expect(await listed('--since', '2026-01-01', '--lines', '3')).toHaveLength(3);
  });

  it('leaves out other projects unless all are asked for', async () => {
    const { listed } = written({ tool: 'own' }, { tool: 'theirs', project: '/elsewhere' });
    expect(await listed()).toEqual(['own']);
    expect(await listed('--all')).toEqual(['own', 'theirs']);
  });

  it('says how to record calls if none is', async () => {
    const { run } = written();
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(0);
    expect(stdout).toContain('"ledger": true');
  });

  it('counts lines that cannot be read', async () => {
    const { run, file } = written({});
    writeFileSync(file, 'cut\n{}\n', { flag: 'a' });
    writeFileSync(file, `${JSON.stringify({})}\n`, { flag: 'a' });
    const { stdout, stderr } = await run();
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stderr).toContain('2 lines of the ledger');
  });

  it('rejects a time in another form', async () => {
    const { exitCode, stderr } = await written().run('--since', 'yesterday');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Write an age such as 90s');
  });

  it('names a file that it does not read', async () => {
    const { run, file } = written();
    symlinkSync('/dev/null', file);
    const { exitCode, stderr } = await run();
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`cannot read ${file}`);
  });
});
