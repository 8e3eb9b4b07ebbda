/** Commands that use the troupe in the background, with real processes. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Identity } from '../../../src/cli/control/protocol.ts';
import { type ControlServer, openControlServer } from '../../../src/cli/control/server.ts';
import { compiledCli } from '../compiled-cli.ts';
import { type SharedPlace, sharedPlace, socketOf } from './shared-place.ts';

const program = compiledCli();
const limit = { timeout: 180_000 };
const everything = fileURLToPath(
  new URL(
    '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
);

/** The user's own settings, which every command reads. */
function writeUser({ folder }: SharedPlace, servers: Record<string, object>, more = {}): void {
  const file = path.join(folder, 'state', 'troupe.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }));
}

function documentOf({ stdout }: { readonly stdout: string }): Record<string, unknown> {
  return JSON.parse(stdout) as Record<string, unknown>;
}

describe('a command with the troupe in the background', () => {
  it('uses its own environment, whoever started the troupe', limit, async () => {
    const place = sharedPlace(program);
    const env = { [place.mark]: '1', WHO: '${WHO:-none}' };
    writeUser(place, { db: { command: process.execPath, args: [everything, 'stdio'], env } });
    const seen = async (who: string): Promise<unknown> => {
      const { stdout } = await place.command(['call', 'db', 'get-env'], { WHO: who });
      return documentOf({ stdout })['WHO'];
    };
    expect([await seen('first'), await seen('second'), await seen('second')]).toEqual([
      'first',
      'second',
      'second',
    ]);
    expect(place.backgrounds()).toHaveLength(1);
    expect(place.servers()).toHaveLength(2);
  });

  it('sees and stops a server that only a host has started', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server() });
    const host = await place.host();
    await host.list();
    const name = `serve, pid ${host.pid}`;
    expect(documentOf(await place.command(['status', '--json']))).toMatchObject({
      troupe: { clients: [{ name, servers: ['db'] }] },
      servers: [{ name: 'db', state: 'ready' }],
    });
    expect((await place.command(['status'])).stdout).toMatch(new RegExp(`${name} .* db`, 'u'));
    expect((await place.command(['status', 'db'])).stdout).toMatch(
      new RegExp(`used by +${name}`, 'u'),
    );
    expect(documentOf(await place.command(['explain', 'db', '--json']))).toMatchObject({
      status: { name: 'db' },
      sharedWith: [name],
    });
    expect((await place.command(['logs', 'db'])).stdout).toContain('ready');
    expect((await place.command(['stop', 'db'])).exitCode).toBe(0);
    await place.isEmpty();
  });

  it('starts none if the variable, the settings or a flag rule it out', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    const call = ['call', 'db', 'echo', 'text=hi'];
    expect((await place.command(call, { MCP_TROUPE_NO_BACKGROUND: '1' })).exitCode).toBe(0);
    expect((await place.command([...call, '--alone'])).exitCode).toBe(0);
    writeUser(place, { db: place.server() }, { mcp: { background: false } });
    expect((await place.command(call)).exitCode).toBe(0);
    expect(place.backgrounds()).toEqual([]);
  });

  it('is a gateway of its own if the folder of the socket cannot be used', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    writeFileSync(path.join(place.folder, 'state', 'run'), '');
    const host = await place.host({ words: [] });
    expect((await host.list())['result']).toHaveProperty('tools');
    expect(host.notes()).toContain('running alone: ');
    expect(place.backgrounds()).toEqual([]);
  });
});

describe('a troupe in the background of another version', () => {
  /** Answers as that troupe. */
  async function otherVersion(place: SharedPlace, ends: boolean): Promise<void> {
    const { folder } = place;
    const identity: Identity = {
      ...{ pid: process.pid, version: '0.0.1', projectRoot: folder },
      ...{ stateFolder: path.join(folder, 'state'), config: [], allow: null, background: true },
    };
    const answers: Readonly<Record<string, unknown>> = {
      identify: identity,
      retire: { ends },
      status: { troupe: { pid: process.pid, state: 'running', problems: [] }, servers: [] },
      usage: { usage: [] },
    };
    const server: ControlServer = await openControlServer(socketOf(place), async (command) => {
      if (command === 'retire' && ends) setImmediate(() => setImmediate(() => server.close()));
      return answers[command];
    });
    onTestFinished(() => server.close());
  }

  it('is replaced if it has no other client', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    await otherVersion(place, true);
    const { stdout, stderr } = await place.command(['status', '--json']);
    expect(stderr).toContain('replaced the troupe of version 0.0.1');
    expect(documentOf({ stdout })).toMatchObject({ servers: [{ name: 'db' }] });
    expect(place.backgrounds()).toHaveLength(1);
  });

  it('is used if it has other clients, with a note', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    await otherVersion(place, false);
    const { stdout, stderr } = await place.command(['status', '--json']);
    expect(stderr).toContain('using the troupe of version 0.0.1');
    expect(documentOf({ stdout })).toMatchObject({ servers: [] });
    expect(place.backgrounds()).toEqual([]);
  });
});

describe('troupe up', () => {
  it('shows a troupe in the background that hosts use', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    const host = await place.host({ words: [] });
    await host.list();
    const up = place.start('up');
    const [, users] = await up.noted(/which others use: (.*)/u);
    expect(users).toBe(`serve, pid ${host.pid}`);
    up.child.kill('SIGINT');
    await up.ended;
    expect((await host.list())['result']).toHaveProperty('tools');
    expect(place.backgrounds()).toHaveLength(1);
    const refused = await place.run('up', '--root', place.folder);
    expect(refused.stderr).toContain('--root would have no effect');
  });

  it('takes the place of a troupe in the background that is unused', limit, async () => {
    const place = sharedPlace(program);
    writeUser(place, { db: place.server() });
    await place.command(['status']);
    expect(place.backgrounds()).toHaveLength(1);
    const up = place.start('up');
    await up.printed(/db ready/u);
    expect(place.backgrounds()).toEqual([]);
    expect((await place.command(['status'])).stdout).toContain(`pid ${up.child.pid}`);
    up.child.kill('SIGINT');
    await up.ended;
  });
});
