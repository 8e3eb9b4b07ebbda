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
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
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

function createPlace(): Place {
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
    const place = createPlace();
    place.program('second');
    const troupe = place.start();
    await troupe.waitFor('db', 'blocked');
    expect(existsSync(place.at('second.ran'))).toBe(false);
    troupe.send({ type: 'approval.grant', server: 'db' });
    const { pid } = await troupe.waitFor('db', 'ready');
    expect(pid).toBeGreaterThan(0);
    expect(readFileSync(place.at('second.ran'), 'utf8')).toBe('--quietly\n');
    place.program('first');
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
            before: place.at('second', 'tool'),
            now: place.at('first', 'tool'),
          },
        ],
      },
    ]);
    expect(existsSync(place.at('first.ran'))).toBe(false);
    rmSync(place.at('first', 'tool'));
    troupe.send({ type: 'server.restart', server: 'db' });
    await troupe.waitFor('db', 'ready');
  });

  it('requires approval when its envFile sets a new name, but not for a new value', async () => {
    const place = createPlace();
    const wrapper = place.at('project', 'wrapper');
    const lines = [
      '#!/bin/bash',
      'dirname "$0" >/dev/null',
      `exec '${process.execPath}' '${server}'`,
    ];
    writeFileSync(wrapper, `${lines.join('\n')}\n`, { mode: 0o755 });
    writeFileSync(
      place.at('project', '.mcp.json'),
      JSON.stringify({ mcpServers: { db: { command: './wrapper', envFile: '.env' } } }),
    );
    const variables = place.at('project', '.env');
    writeFileSync(variables, 'A=1\n');
    const troupe = place.start();
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
    expect(await previewPlan({ ...place.options() })).toMatchObject({
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
    const pwned = place.at('pwned');
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
    const place = createPlace();
    place.program('first');
    const before = place.start();
    await before.waitFor('db', 'blocked');
    before.send({ type: 'approval.grant', server: 'db' });
    expect(await before.approvalsSaved()).toBe(true);
    await before.stop();
    const link = place.at('link');
    symlinkSync(place.project, link);
    expect(await previewPlan(place.options(link) ?? {})).toMatchObject({
      steps: [{ server: 'db', step: 'spawn', why: 'in the settings, not running yet' }],
    });
    await place.start(link).waitFor('db', 'ready');
  });

  it('starts with an approval written by an earlier version', async () => {
    const place = createPlace();
    place.program('first');
    const generation = fingerprintOf({
      type: 'stdio',
      command: 'tool',
      args: ['--quietly'],
      env: {},
      cwd: place.project,
      era: 'auto',
    });
    const executable = place.at('first', 'tool');
    const subject = { generation, scope: 'project', name: 'db', executable } as const;
    const record = {
      project: place.project,
      server: 'db',
      fingerprint: digestOf(subject),
      decision: 'granted',
      decidedAt: 1,
      facts: [],
      pins: [],
    };
    mkdirSync(place.at('state'), { mode: 0o700 });
    const text = JSON.stringify({ version: 1, records: [record] });
    writeFileSync(place.at('state', 'approvals.json'), text, { mode: 0o600 });
    expect(await place.start().waitFor('db', 'ready')).toHaveProperty('state', 'ready');
  });

  it('stops in one process when it is revoked in another', async () => {
    const place = createPlace();
    place.program('first');
    const [one, two] = [place.start(), place.start()];
    await Promise.all([one.waitFor('db', 'blocked'), two.waitFor('db', 'blocked')]);
    one.send({ type: 'approval.grant', server: 'db' });
    await Promise.all([one.waitFor('db', 'ready'), two.waitFor('db', 'ready')]);
    two.send({ type: 'approval.revoke', server: 'db' });
    const status = await one.waitFor('db', 'blocked');
    expect(status.reason).toBe('pendingApproval');
  });
});
