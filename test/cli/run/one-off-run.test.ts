/** What a command tells when it starts a troupe of its own and stops it again. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, reportOf, statusOf, toolOf } from '../stand-in-troupe.ts';

const db = () =>
  createStandIn({
    servers: [statusOf('db', { tools: 1 })],
    tools: [toolOf('db', 'echo')],
    answer: () => Promise.resolve(reportOf('hello')),
  });

describe('a command without a running troupe', () => {
  it('reports that it starts a troupe and from which files, except with --json', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    writeFileSync(file, '{}');
    for (const words of [['call', 'db', 'echo'], ['tools']]) {
      const argv = [...words, '--config', file];
      const plain = await runCliHere(argv, { folder, troupe: db() });
      expect(plain.stderr).toBe(`troupe: no matching troupe is running; using ${file}\n`);
      const json = await runCliHere([...argv, '--json'], { folder, troupe: db() });
      expect(json.stderr).toBe('');
    }
  });

  it('suggests a next step that works without a running troupe', async () => {
    const folder = temporaryFolder();
    const gated = statusOf('gated', {
      state: 'blocked',
      reason: 'pendingApproval',
      action: 'troupe approve gated',
    });
    const next = `start a troupe with: troupe up --project ${folder}; then troupe approve gated\n`;
    for (const argv of [['tools', 'gated'], ['tools']]) {
      const troupe = createStandIn({ servers: [gated] });
      const { stderr } = await runCliHere(argv, { folder, troupe });
      expect(stderr).toContain(next);
    }
  });

  it.each([
    ['fix troupe.json:3, then troupe restart db', 'Next: fix troupe.json:3, then run it again'],
    ['set TOKEN and start troupe again', 'Next: set TOKEN and run it again'],
    [undefined, 'Next: run it again'],
  ])('suggests another run where a lasting troupe restarts a server: %s', async (action, next) => {
    const folder = temporaryFolder();
    const lastError = { code: 'CRASHED', kind: 'crashed', message: 'It exited.' } as const;
    const state = { state: 'backingOff', reason: 'retrying', lastError } as const;
    const failing = statusOf('db', { ...state, ...(action !== undefined && { action }) });
    const troupe = createStandIn({ servers: [failing] });
    const { stderr } = await runCliHere(['tools', 'db'], { folder, troupe });
    expect(stderr).toMatch(new RegExp(`Server db is backingOff .retrying.: It exited. ${next}\n$`));
  });

  it('lists servers with a command that works without a running troupe', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    writeFileSync(file, '{}');
    const argv = ['call', 'nosuch', 'echo', '--config', file];
    const { stderr } = await runCliHere(argv, { folder, troupe: db() });
    expect(stderr).toContain(
      `List what is there: troupe plan --project ${folder} --config ${file}\n`,
    );
  });

  it('suggests commands that read the same settings', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'other.json');
    writeFileSync(file, '{ "mcpServers": { "off": { "command": "x", "enabled": false } } }');
    const flags = `--project ${folder} --config ${file}`;
    const off = statusOf('off', { state: 'disabled', action: 'troupe enable off' });
    const given = { folder, troupe: createStandIn({ servers: [off] }) };
    const refused = await runCliHere(['tools', 'off', '--config', file], given);
    expect(refused.stderr).toContain(`Next: troupe enable ${flags} off\n`);
    const unknown = await runCliHere(['call', 'db', 'other', 'a=1', '--config', file], {
      folder,
      troupe: db(),
    });
    expect(unknown.stderr).toContain(`List what is there: troupe tools ${flags} db\n`);
    const plan = await runCliHere(['plan', '--config', file], { folder });
    expect(plan.stdout.replaceAll(/\s+/gu, ' ')).toContain(`next: troupe enable ${flags} off`);
  });
});
