/** Before approval nothing that a project's files name outside the project is touched. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
import { checkSettings } from '../../../src/runtime/previews/check-settings.ts';
import { previewPlan } from '../../../src/runtime/previews/preview-plan.ts';

interface Touch {
  readonly call: string;
  readonly file: string;
}

const touches = vi.hoisted((): Touch[] => []);

/** The same functions; each notes the path that it is called with. */
const noting = vi.hoisted(() => <Functions extends object>(functions: Functions): Functions => {
  const entries = Object.entries(functions).map(([call, value]: [string, unknown]) => {
    const isPlain = typeof value === 'function' && /^[a-z]/u.test(call);
    if (!isPlain) return [call, value];
    const noted = (...args: unknown[]): unknown => {
      if (typeof args[0] === 'string') touches.push({ call, file: args[0] });
      return Reflect.apply(value, undefined, args);
    };
    return [call, Object.assign(noted, value)];
  });
  return Object.fromEntries(entries) as Functions;
});
vi.mock('node:fs', async (original) => noting(await original<object>()));
vi.mock('node:fs/promises', async (original) => noting(await original<object>()));

const secret = 'AKIA-very-secret';

/** A project whose entries name a folder beside it in every way they can. */
function place() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'untouched-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [project, canary] = [path.join(folder, 'project'), path.join(folder, 'canary')];
  for (const name of [project, canary, path.join(canary, secret), path.join(folder, 'bin')])
    mkdirSync(name);
  for (const name of ['run', path.join(secret, 'run'), 'settings.json'])
    writeFileSync(path.join(canary, name), '{}', { mode: 0o755 });
  writeFileSync(path.join(folder, 'bin', 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(path.join(project, 'inside'), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync(canary, path.join(project, 'linked'));
  symlinkSync(canary, path.join(project, '.troupe'));
  const entries = {
    command: { command: `${canary}/\${SECRET}/run` },
    plain: { command: `${canary}/run` },
    relative: { command: '../canary/run' },
    link: { command: './linked/run' },
    path: { command: 'run', env: { PATH: `${canary}/\${SECRET}:${canary}` } },
    cwd: { command: 'tool', cwd: canary },
    linkedCwd: { command: 'tool', cwd: './linked' },
    both: { command: './run', cwd: `\${SECRET}/../${canary}` },
    network: { command: '\\\\host.example\\${SECRET}\\run' },
    envFile: { command: 'tool', envFile: `${canary}/\${SECRET}/.env` },
    good: { command: './inside' },
  };
  writeFileSync(path.join(project, '.mcp.json'), JSON.stringify({ mcpServers: entries }));
  const source = (file: string, scope: 'project' | 'workspace') => ({ file, scope });
  const options = {
    projectRoot: project,
    stateDir: path.join(folder, 'state'),
    sources: [source('.mcp.json', 'project'), source('.troupe/settings.json', 'workspace')],
    env: { PATH: `:${path.join(folder, 'bin')}`, HOME: folder, SECRET: secret },
  };
  touches.length = 0;
  const names = Object.keys(entries);
  return { project, canary, options, names };
}

/** Calls that reached, or would follow a link to, what lies beside the project. */
function trespasses({ project, canary }: { project: string; canary: string }): readonly Touch[] {
  const links = ['linked', '.troupe'].map((name) => path.join(project, name));
  return touches.filter(({ call, file }) => {
    if (file.includes(canary) || file.includes(secret) || file.startsWith('\\\\')) return true;
    if (links.includes(file)) return !['lstat', 'readlink'].includes(call);
    return links.some((link) => file.startsWith(`${link}${path.sep}`));
  });
}

describe('a path outside the project in a project file', () => {
  it('is not accessed by a plan', async () => {
    const here = place();
    const { steps } = await previewPlan(here.options);
    expect(steps.map(({ server }) => server).toSorted()).toEqual(here.names.toSorted());
    expect(touches).toContainEqual({ call: 'access', file: path.join(here.project, 'inside') });
    expect(trespasses(here)).toEqual([]);
  });

  it('is not accessed by a check', async () => {
    const here = place();
    const { files } = await checkSettings(here.options);
    expect(files[0]).toMatchObject({ servers: here.names.length });
    expect(touches).toContainEqual({ call: 'access', file: path.join(here.project, 'inside') });
    expect(trespasses(here)).toEqual([]);
  });

  it('is not accessed by a running troupe, its watcher, plan, explanations or requests', async () => {
    const here = place();
    const troupe = createTroupe(here.options);
    onTestFinished(() => troupe.stop());
    await Promise.all(here.names.map((name) => troupe.waitFor(name, 'blocked')));
    await troupe.plan();
    for (const name of here.names) troupe.explain(name);
    const requests = troupe.approvals();
    expect(requests.map(({ server }) => server).toSorted()).toEqual(here.names.toSorted());
    expect(trespasses(here)).toEqual([]);
    const shown = Object.fromEntries(requests.map(({ server, ...request }) => [server, request]));
    expect(shown['plain']?.executable).toBe(path.join(here.canary, 'run'));
    expect(shown['link']?.executable).toBe(path.join(here.canary, 'run'));
    expect(shown['good']?.executable).toBe(path.join(here.project, 'inside'));
    expect(shown['command']).not.toHaveProperty('executable');
    expect(shown['command']?.warnings?.join()).toContain('looked up only after approval');
    expect(shown['path']?.warnings?.join()).toContain('looked up only after approval');
    const { problems } = troupe.snapshot().troupe;
    expect(problems.map(({ message }) => message).join()).toContain('leads out of the project');
  });
});
