import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createPermissionStore, permissionFile } from '../../../actors/stores/permissions.ts';
import type { PermissionChoice } from '../../../src/domain/permission.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';

const digest = 'a'.repeat(64);
const ofServer: PermissionChoice = { server: 'db', fingerprint: digest, decidedAt: 1 };
const ofTool: PermissionChoice = { ...ofServer, tool: 'query', digest };

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'troupe-permissions-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function open(stateDir: string | undefined, projectRoot = '/project') {
  const problems: Problem[] = [];
  const lists: (readonly Problem[])[] = [];
  const store = createPermissionStore({
    projectRoot,
    stateDir,
    clock: realClock,
    onProblems: (list) => {
      problems.push(...list);
      lists.push(list);
    },
  });
  return { store, problems, lists };
}

describe('permissions', () => {
  it('outlive the run in a private file', async () => {
    const stateDir = folder();
    await open(stateDir).store.add(ofServer);
    await open(stateDir).store.add(ofTool);
    expect(await open(stateDir).store.choices()).toMatchObject([ofServer, ofTool]);
    if (process.platform !== 'win32')
      expect(statSync(permissionFile(stateDir)).mode & 0o777).toBe(0o600);
    expect(readdirSync(stateDir)).toEqual(['permissions.json']);
  });

  it('are not lost when many are added at once', async () => {
    const stateDir = folder();
    const all = Array.from({ length: 8 }, (_, n) => ({ ...ofTool, tool: `t${n}` }));
    await Promise.all(all.map((choice) => open(stateDir).store.add(choice)));
    const tools = (await open(stateDir).store.choices()).map(({ tool }) => tool);
    expect(new Set(tools)).toEqual(new Set(all.map(({ tool }) => tool)));
    expect(tools).toHaveLength(all.length);
  });

  it('include the path of their file', async () => {
    const stateDir = folder();
    await open(stateDir).store.add(ofServer);
    expect(await open(stateDir).store.choices()).toEqual([
      { ...ofServer, file: permissionFile(stateDir) },
    ]);
    const { store } = open(undefined);
    await store.add(ofServer);
    expect(await store.choices()).toEqual([ofServer]);
  });

  it('apply to one project', async () => {
    const stateDir = folder();
    await open(stateDir).store.add(ofServer);
    expect(await open(stateDir, '/elsewhere').store.choices()).toEqual([]);
    expect(await open(stateDir, '/elsewhere').store.forget({})).toBe(0);
    expect(await open(stateDir).store.choices()).toMatchObject([ofServer]);
  });

  it('replace an earlier choice for the same tool', async () => {
    const { store } = open(folder());
    await store.add(ofTool);
    await store.add({ ...ofTool, decidedAt: 2 });
    expect(await store.choices()).toMatchObject([{ ...ofTool, decidedAt: 2 }]);
  });

  it('can be revoked for all servers, one server or one tool', async () => {
    const stateDir = folder();
    const { store } = open(stateDir);
    for (const choice of [ofServer, ofTool, { ...ofServer, server: 'web' }])
      await store.add(choice);
    expect(await store.forget({ server: 'db', tool: 'query' })).toBe(1);
    expect(await open(stateDir).store.choices()).toHaveLength(2);
    expect(await store.forget({ server: 'web' })).toBe(1);
    expect(await store.forget({})).toBe(1);
    expect(await open(stateDir).store.choices()).toEqual([]);
  });

  it('end with the run without a state folder', async () => {
    const { store } = open(undefined);
    await store.add(ofServer);
    expect(await store.choices()).toMatchObject([ofServer]);
    expect(await store.forget({})).toBe(1);
    expect(await open(undefined).store.choices()).toEqual([]);
  });

  it.each([
    ['is not JSON', 'yes'],
    ['has an invalid structure', '{"version":1,"choices":[{"server":"db"}]}'],
    ['is too large', ' '.repeat(1024 * 1024 + 1)],
  ])('are ignored in a file that %s, which is set aside and reported', async (_what, content) => {
    const stateDir = folder();
    writeFileSync(permissionFile(stateDir), content, { mode: 0o600 });
    const { store, problems } = open(stateDir);
    expect(await store.choices()).toEqual([]);
    const [aside = ''] = readdirSync(stateDir);
    expect(aside).toMatch(/^permissions\.json\.damaged-/u);
    expect(readFileSync(path.join(stateDir, aside), 'utf8')).toBe(content);
    expect(problems[0]?.file).toBe(path.join(stateDir, aside));
    await store.add(ofServer);
    expect(await store.choices()).toMatchObject([ofServer]);
  });

  it('are neither used nor replaced when a newer version wrote them', async () => {
    const stateDir = folder();
    const newer = '{"version":2,"choices":[]}';
    writeFileSync(permissionFile(stateDir), newer, { mode: 0o600 });
    const { store, problems } = open(stateDir);
    expect(await store.choices()).toEqual([]);
    await store.add(ofServer);
    // For this run alone.
    expect(await store.choices()).toMatchObject([ofServer]);
    expect(problems[0]?.message).toContain('newer version');
    expect(readFileSync(permissionFile(stateDir), 'utf8')).toBe(newer);
  });

  it.runIf(process.platform !== 'win32')(
    'are ignored in a file that other users may write',
    async () => {
      const stateDir = folder();
      await open(stateDir).store.add(ofServer);
      chmodSync(permissionFile(stateDir), 0o666);
      const { store, problems, lists } = open(stateDir);
      expect(await store.choices()).toEqual([]);
      expect(problems[0]?.message).toContain('open to other users');
      chmodSync(permissionFile(stateDir), 0o600);
      expect(await store.choices()).toHaveLength(1);
      expect(lists.at(-1)).toEqual([]);
    },
  );

  it('apply to this run and report a problem when they cannot be saved', async () => {
    const stateDir = path.join(folder(), 'state');
    writeFileSync(stateDir, 'a file in the place of the folder');
    const { store, problems } = open(stateDir);
    await store.add(ofServer);
    expect(await store.choices()).toContainEqual(ofServer);
    expect(problems[0]?.message).toContain('cannot be saved');
    await expect(store.forget({})).rejects.toThrow();
  });

  it("are kept in memory when a folder exists at the file's path", async () => {
    const stateDir = folder();
    mkdirSync(permissionFile(stateDir));
    const { store, problems } = open(stateDir);
    expect(await store.choices()).toEqual([]);
    expect(problems[0]?.message).toContain('is not a file');
  });
});
