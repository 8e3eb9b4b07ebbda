/** Approvals with real processes: what runs is the file that was approved, in whichever process it was decided. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { digestOf, fingerprintOf } from '../../../src/policies/fingerprint.ts';
import { createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
import { previewPlan } from '../../../src/runtime/previews/preview-plan.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';

const server = path.resolve('test/fixtures/stdio-server.mjs');

interface Place {
  readonly project: string;
  at(...parts: string[]): string;
  /** Puts a program `tool` there, which notes that it ran and then is a server. */
  program(folder: string): void;
  start(projectRoot?: string): Troupe;
  options(projectRoot?: string): Parameters<typeof createTroupe>[0];
}

function place(): Place {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'approved-')));
  const at = (...parts: string[]): string => path.join(folder, ...parts);
  for (const name of ['project', 'first', 'second']) mkdirSync(at(name));
  writeFileSync(
    at('project', '.mcp.json'),
    JSON.stringify({ mcpServers: { db: { command: 'tool', args: ['--quietly'] } } }),
  );
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const options = (projectRoot = at('project')) => ({
    projectRoot,
    stateDir: at('state'),
    sources: [{ file: '.mcp.json', scope: 'project' as const }],
    env: { ...process.env, PATH: `${at('first')}:${at('second')}:${process.env['PATH'] ?? ''}` },
  });
  return {
    project: at('project'),
    at,
    program(where) {
      const lines = [
        '#!/bin/sh',
        `echo "$@" >> '${at(`${where}.ran`)}'`,
        `exec '${process.execPath}' '${server}'`,
      ];
      writeFileSync(at(where, 'tool'), `${lines.join('\n')}\n`, { mode: 0o755 });
    },
    options,
    start(projectRoot) {
      const troupe = createTroupe(options(projectRoot));
      onTestFinished(() => troupe.stop());
      return troupe;
    },
  };
}

// Generous, for a loaded machine; all of it waits on events.
describe('an approved server', () => {
  it('requires approval when its command resolves to another program', async () => {
    const there = place();
    there.program('second');
    const troupe = there.start();
    await troupe.waitFor('db', 'blocked');
    expect(existsSync(there.at('second.ran'))).toBe(false);
    troupe.send({ type: 'approval.grant', server: 'db' });
    const { pid } = await troupe.waitFor('db', 'ready');
    expect(pid).toBeGreaterThan(0);
    expect(readFileSync(there.at('second.ran'), 'utf8')).toBe('--quietly\n');
    there.program('first');
    // The settings are as they were: only the start itself can see it.
    troupe.send({ type: 'server.restart', server: 'db' });
    await troupe.waitFor('db', 'blocked');
    expect(troupe.approvals()).toMatchObject([
      {
        decision: 'pending',
        because: 'executableMoved',
        changes: [
          {
            field: 'executable',
            before: there.at('second', 'tool'),
            now: there.at('first', 'tool'),
          },
        ],
      },
    ]);
    expect(existsSync(there.at('first.ran'))).toBe(false);
    rmSync(there.at('first', 'tool'));
    troupe.send({ type: 'server.restart', server: 'db' });
    await troupe.waitFor('db', 'ready');
  });

  it('requires approval when its envFile sets a new name, but not for a new value', async () => {
    const there = place();
    const wrapper = there.at('project', 'wrapper');
    const lines = [
      '#!/bin/bash',
      'dirname "$0" >/dev/null',
      `exec '${process.execPath}' '${server}'`,
    ];
    writeFileSync(wrapper, `${lines.join('\n')}\n`, { mode: 0o755 });
    writeFileSync(
      there.at('project', '.mcp.json'),
      JSON.stringify({ mcpServers: { db: { command: './wrapper', envFile: '.env' } } }),
    );
    const variables = there.at('project', '.env');
    writeFileSync(variables, 'A=1\n');
    const troupe = there.start();
    await troupe.waitFor('db', 'blocked');
    expect(troupe.approvals()).toMatchObject([{ envFile: variables, envFileNames: ['A'] }]);
    troupe.send({ type: 'approval.grant', server: 'db' });
    await troupe.waitFor('db', 'ready');

    writeFileSync(variables, 'A=2\n');
    await troupe.restartAndWait('db');

    writeFileSync(variables, 'A=2\nEXTRA=1\n');
    troupe.send({ type: 'server.restart', server: 'db' });
    await troupe.waitFor('db', 'blocked');
    expect(troupe.approvals()).toMatchObject([
      {
        decision: 'pending',
        because: 'changed',
        changes: [{ field: 'envFileNames', before: 'A', now: 'A, EXTRA' }],
      },
    ]);
    expect(await previewPlan({ ...there.options() })).toMatchObject({
      steps: [{ reason: 'it waits for your approval; next: troupe approve db' }],
    });

    // The file is watched while the server waits.
    writeFileSync(variables, 'A=2\n');
    await troupe.waitFor('db', 'ready');
    rmSync(variables);
    troupe.send({ type: 'server.restart', server: 'db' });
    await troupe.waitFor('db', 'blocked');
    writeFileSync(variables, 'A=2\n');
    await troupe.waitFor('db', 'ready');
    const pwned = there.at('pwned');
    writeFileSync(variables, `A=1\nBASH_FUNC_dirname%%=() { touch '${pwned}'; }\n`);
    troupe.send({ type: 'server.restart', server: 'db' });
    const { lastError } = await troupe.waitFor('db', 'blocked');
    expect(lastError?.message).toContain('is not a plain variable name');
    expect(troupe.approvals()[0]?.warnings).toContainEqual(
      expect.stringContaining('the variables file cannot be used'),
    );
    expect(existsSync(pwned)).toBe(false);
  });

  it('starts in the next run even if its folder is opened through a symlink', async () => {
    const there = place();
    there.program('first');
    const before = there.start();
    await before.waitFor('db', 'blocked');
    before.send({ type: 'approval.grant', server: 'db' });
    expect(await before.approvalsSaved()).toBe(true);
    await before.stop();
    const link = there.at('link');
    symlinkSync(there.project, link);
    expect(await previewPlan(there.options(link) ?? {})).toMatchObject({
      steps: [{ server: 'db', step: 'spawn', why: 'in the settings, not running yet' }],
    });
    await there.start(link).waitFor('db', 'ready');
  });

  it('starts with an approval written by an earlier version', async () => {
    const there = place();
    there.program('first');
    const generation = fingerprintOf({
      type: 'stdio',
      command: 'tool',
      args: ['--quietly'],
      env: {},
      cwd: there.project,
      era: 'auto',
    });
    const executable = there.at('first', 'tool');
    const subject = { generation, scope: 'project', name: 'db', executable } as const;
    const record = {
      project: there.project,
      server: 'db',
      fingerprint: digestOf(subject),
      decision: 'granted',
      decidedAt: 1,
      facts: [],
      pins: [],
    };
    mkdirSync(there.at('state'), { mode: 0o700 });
    const text = JSON.stringify({ version: 1, records: [record] });
    writeFileSync(there.at('state', 'approvals.json'), text, { mode: 0o600 });
    expect(await there.start().waitFor('db', 'ready')).toHaveProperty('state', 'ready');
  });

  it('stops in one process when it is revoked in another', async () => {
    const there = place();
    there.program('first');
    const [one, two] = [there.start(), there.start()];
    await Promise.all([one.waitFor('db', 'blocked'), two.waitFor('db', 'blocked')]);
    one.send({ type: 'approval.grant', server: 'db' });
    await Promise.all([one.waitFor('db', 'ready'), two.waitFor('db', 'ready')]);
    two.send({ type: 'approval.revoke', server: 'db' });
    const status = await one.waitFor('db', 'blocked');
    expect(status.reason).toBe('pendingApproval');
  });
});
