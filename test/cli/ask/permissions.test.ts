import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPermissionStore, permissionFile } from '../../../actors/stores/permissions.ts';
import type { PermissionChoice } from '../../../src/domain/permission.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const digest = 'a'.repeat(64);
const decidedAt = Date.UTC(2026, 0, 2, 3, 4, 5);
const ofServer: PermissionChoice = { server: 'db', fingerprint: digest, decidedAt };
const ofTool: PermissionChoice = { ...ofServer, tool: 'query', digest };
const ofOther: PermissionChoice = { ...ofTool, server: 'web/api', tool: 'get' };

/** Permissions from an earlier run; no process is running now. */
async function written(...choices: PermissionChoice[]) {
  const folder = temporaryFolder();
  const stateDir = path.join(folder, 'state');
  const store = createPermissionStore({
    projectRoot: folder,
    stateDir,
    clock: realClock,
    onProblems: () => undefined,
  });
  for (const choice of choices) await store.add(choice);
  const run = (...words: string[]) =>
    runCliHere(['permissions', ...words, '--project', folder, '--state-dir', stateDir], { folder });
  return { run, store, stateDir };
}

describe('troupe permissions', () => {
  it('lists permissions with their dates and files without a running troupe', async () => {
    const { run, stateDir } = await written(ofServer, ofTool);
    const file = permissionFile(stateDir);
    const { exitCode, stdout } = await run();
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      `db: every tool allowed since 2026-01-02T03:04:05.000Z in ${file}\n` +
        `db/query allowed since 2026-01-02T03:04:05.000Z in ${file}\n`,
    );
    const { stdout: json } = await run('--json');
    expect(JSON.parse(json)).toEqual({
      permissions: [
        { ...ofServer, file },
        { ...ofTool, file },
      ],
    });
  });

  it('reports an empty list without creating a file', async () => {
    const { run, stateDir } = await written();
    expect((await run()).stdout).toBe('nothing is always allowed\n');
    expect((await run('forget', '--all')).exitCode).toBe(0);
    expect(existsSync(permissionFile(stateDir))).toBe(false);
  });

  it.each([
    ['one tool', ['db/query'], [ofServer, ofOther]],
    ['all tools of a server', ['db'], [ofOther]],
    ['a tool of a server whose name contains a slash', ['web/api/get'], [ofServer, ofTool]],
    ['a server whose name contains a slash', ['web/api'], [ofServer, ofTool]],
    ['everything', ['--all'], []],
    ['nothing for a server without permissions', ['files'], [ofServer, ofTool, ofOther]],
    ['nothing for a tool without permissions', ['db/drop'], [ofServer, ofTool, ofOther]],
  ])('forgets %s', async (_what, words, left) => {
    const { run, store } = await written(ofServer, ofTool, ofOther);
    const { exitCode, stdout } = await run('forget', ...words, '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ forgotten: 3 - left.length });
    expect(await store.choices()).toMatchObject(left);
  });

  it('queries the running troupe, which may hold permissions that are not on disk', async () => {
    const troupe = createStandIn({ servers: [statusOf('db')], permissions: [ofServer, ofTool] });
    const { folder } = await upHere(troupe);
    const { stdout } = await runCliHere(['permissions'], { folder });
    expect(stdout).toContain('until the running troupe ends');
    const forgotten = await runCliHere(['permissions', 'forget', 'db/query'], { folder });
    expect(forgotten.stdout).toBe('forgot 1 for "db/query"\n');
    expect(await troupe.permissions()).toEqual([ofServer]);
  });

  it.each([
    ['forget without a target', ['forget']],
    ['forget with a server and --all', ['forget', 'db', '--all']],
    ['--all without forget', ['--all']],
    ['another action', ['remove']],
  ])('rejects %s', async (_what, words) => {
    const { run, store } = await written(ofServer);
    const { exitCode, stderr } = await run(...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('permissions');
    expect(await store.choices()).toHaveLength(1);
  });
});
