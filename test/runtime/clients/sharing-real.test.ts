/** Several clients of one troupe and the real processes that they share. */

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TroupeEventName, TroupeEvents } from '../../../src/domain/host/event.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { CallProgress } from '../../../src/domain/session.ts';
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
import type { Troupe, TroupeOptions } from '../../../src/runtime/troupe.ts';
import { ended, isRunning } from '../../actors/session/bench.ts';

const script = path.resolve('test/fixtures/shared-server.mjs');

/** Settles with the first event that is like this. */
function once<Name extends TroupeEventName>(
  troupe: Troupe,
  name: Name,
  matches: (event: TroupeEvents[Name]) => boolean,
): Promise<void> {
  return new Promise((resolve) => {
    const end = troupe.on(name, (event) => {
      if (!matches(event)) return;
      end();
      resolve();
    });
  });
}

/** Settles once a client is ready with another process than this. */
async function readyAgain(troupe: Troupe, pid: number): Promise<number> {
  const isAgain = (status: ServerStatus | undefined): boolean =>
    status?.state === 'ready' && status.pid !== pid;
  if (!isAgain(troupe.status('shared')))
    await once(troupe, 'status.changed', ({ status }) => isAgain(status));
  return troupe.status('shared')?.pid as number;
}

function open(entry: object = {}, options: TroupeOptions = {}) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'clients-')));
  const own = { command: process.execPath, args: [script], cwd: folder, ...entry };
  const settings = { mcpServers: { shared: own } };
  const troupe = createTroupe({ settings, projectRoot: folder, ...options });
  onTestFinished(async () => {
    await troupe.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const project = (name: string): string => {
    const place = path.join(folder, name);
    mkdirSync(place);
    return place;
  };
  return { troupe, settings, folder, project, at: (name: string) => path.join(folder, name) };
}

async function callIn(
  client: Troupe,
  tool: string,
  args: Readonly<Record<string, unknown>> = {},
  options: Parameters<Troupe['callServerTool']>[3] = {},
): Promise<string> {
  const { result } = await client.callServerTool('shared', tool, args, options);
  return (result.content[0] as { readonly text: string }).text;
}

async function pidIn(client: Troupe, name = 'shared'): Promise<number> {
  const { pid } = await client.waitFor(name, 'ready');
  return pid as number;
}

const countsIn = async (client: Troupe) =>
  JSON.parse(await callIn(client, 'counts')) as Readonly<Record<string, number>>;

describe('clients of one troupe', () => {
  it('share a process that they would start alike, whatever they call it', async () => {
    const { troupe, settings } = open();
    const first = await pidIn(troupe);
    const renamed = { mcpServers: { other: settings.mcpServers.shared } };
    const client = troupe.openClient({ name: 'agent', settings: renamed });
    expect(await pidIn(client, 'other')).toBe(first);
    expect(await callIn(troupe, 'pid')).toBe(String(first));
    expect(await countsIn(troupe)).toMatchObject({ initialize: 1 });
    expect(troupe.status('other')).toBeUndefined();
    expect(troupe.explain('shared')?.sharedWith).toEqual(['agent']);
    expect(client.explain('other')?.sharedWith).toEqual(['host']);
    expect(troupe.snapshot().troupe.clients).toMatchObject([{ name: 'agent', servers: ['other'] }]);
    await client.stop();
    expect(troupe.explain('shared')?.sharedWith).toBeUndefined();
    expect(troupe.snapshot().troupe.clients).toBeUndefined();
  });

  it('have processes of their own for settings that differ', async () => {
    const { troupe, settings } = open();
    const { shared } = settings.mcpServers;
    const differing = { mcpServers: { shared: { ...shared, env: { LEVEL: '2' } } } };
    const client = troupe.openClient({ name: 'agent', settings: differing });
    expect(await pidIn(client)).not.toBe(await pidIn(troupe));
  });

  it.each([
    ['project', false],
    ['always', true],
    ['client', false],
  ])('of two projects with "sharing": "%s" share a process: %s', async (sharing, isShared) => {
    const { troupe, project } = open({ sharing });
    const client = troupe.openClient({ name: 'agent', projectRoot: project('other') });
    expect((await pidIn(client)) === (await pidIn(troupe))).toBe(isShared);
  });

  it('share none with "sharing": "client" in one project', async () => {
    const { troupe } = open({ sharing: 'client' });
    expect(await pidIn(troupe.openClient({ name: 'agent' }))).not.toBe(await pidIn(troupe));
  });

  it('need an approval of their own for a server that another client runs', async () => {
    const { troupe, folder, settings, project } = open();
    const place = project('other');
    writeFileSync(path.join(place, '.mcp.json'), JSON.stringify(settings));
    await pidIn(troupe);
    const sources = [{ file: '.mcp.json', scope: 'project' }] as const;
    const client = troupe.openClient({ name: 'agent', projectRoot: place, sources, settings: {} });
    await client.ready();
    expect(client.status('shared')).toMatchObject({ reason: 'pendingApproval' });
    await expect(callIn(client, 'pid')).rejects.toMatchObject({
      code: 'PENDING_APPROVAL',
      outcome: 'not_executed',
    });
    expect(await callIn(troupe, 'pid')).toBe(String(troupe.status('shared')?.pid));
    const [request] = client.approvals('shared');
    expect(request).toMatchObject({ server: 'shared' });
    expect(folder).not.toBe(place);
  });

  it('get their own answers, progress, log lines and updates', async () => {
    const { troupe, at } = open();
    const client = troupe.openClient({ name: 'agent' });
    await Promise.all([pidIn(troupe), pidIn(client)]);
    const heard: Record<string, unknown[]> = { troupe: [], client: [] };
    for (const [name, each] of Object.entries({ troupe, client })) {
      const isSubscribed = once(each, 'resource.updated', ({ uri }) => uri.endsWith(name));
      each.subscribe('shared', `file:///${name}`);
      await isSubscribed;
      each.on('notification', ({ params }) => heard[name]?.push(params['data']));
      each.on('resource.updated', ({ uri }) => {
        if (!uri.endsWith(name)) heard[name]?.push(uri);
      });
      each.on('server.log', ({ line }) => {
        if (line.startsWith('stderr')) heard[name]?.push(line);
      });
    }
    const progress: unknown[] = [];
    const onProgress = ({ message }: CallProgress): number => progress.push(message);
    const hasBegun = once(troupe, 'server.log', ({ line }) => line === 'stderr one');
    const slow = callIn(troupe, 'say', { word: 'one', until: at('done') }, { onProgress });
    await hasBegun;
    writeFileSync(at('done'), '');
    expect(await slow).toBe('said');

    const isHeard = Promise.all([
      once(client, 'server.log', ({ line }) => line === 'stderr client'),
      once(client, 'resource.updated', () => true),
    ]);
    await callIn(client, 'update', { word: 'client' });
    await isHeard;
    expect(progress).toEqual(['one']);
    expect(heard['troupe']?.sort()).toEqual(['log one', 'stderr one']);
    expect(heard['client']?.sort()).toEqual(['log client', 'stderr client']);
  });

  it('are asked about their own calls, and not at all where that is uncertain', async () => {
    const asked: string[] = [];
    const answering = (name: string) => ({
      questions: ['form'] as const,
      onQuestion: ({ message }: { readonly message: string }) => {
        asked.push(`${name}: ${message}`);
        return { action: 'accept', content: {} } as const;
      },
    });
    const { troupe, at } = open({}, answering('troupe') as never);
    const client = troupe.openClient({ name: 'agent', ...(answering('client') as object) });
    await Promise.all([pidIn(troupe), pidIn(client)]);
    expect(await callIn(client, 'ask', { word: 'one' })).toBe('{"action":"accept","content":{}}');
    expect(await callIn(troupe, 'ask', { word: 'two' })).toBe('{"action":"accept","content":{}}');
    const slow = callIn(troupe, 'say', { word: 'busy', until: at('done') });
    expect(await callIn(client, 'ask', { word: 'three' })).toBe('-1');
    writeFileSync(at('done'), '');
    await slow;
    expect(asked).toEqual(['client: one', 'troupe: two']);
    const remarks = client.logs('shared')?.map(({ line }) => line);
    expect(remarks?.some((line) => line.includes('"sharing": "client"'))).toBe(true);
  });

  it('leave without ending a process or a call of another client', async () => {
    const { troupe, at } = open();
    const client = troupe.openClient({ name: 'agent' });
    const pid = await pidIn(troupe);
    await pidIn(client);
    const kept = callIn(troupe, 'say', { until: at('done') });
    const hasBegun = once(client, 'notification', () => true);
    const lost = callIn(client, 'say', { word: 'x', until: at('never') }).catch((error) => error);
    await hasBegun;
    await client.stop();
    expect(await lost).toMatchObject({ outcome: 'unknown' });
    // The cancellation was sent before this call.
    expect((await countsIn(troupe))['cancelled']).toBeGreaterThan(0);
    writeFileSync(at('done'), '');
    expect(await kept).toBe('said');
    expect(await callIn(troupe, 'pid')).toBe(String(pid));
  });

  it('find the process again that the last one released, within its drain time', async () => {
    const { troupe } = open({ startup: 'lazy' });
    const first = troupe.openClient({ name: 'first' });
    const pid = Number(await callIn(first, 'pid'));
    await first.stop();
    expect(isRunning(pid)).toBe(true);
    expect(Number(await callIn(troupe.openClient({ name: 'second' }), 'pid'))).toBe(pid);
    await troupe.stop();
    expect(isRunning(pid)).toBe(false);
  });

  it('do not keep a process beyond its drain time', async () => {
    const { troupe } = open({ startup: 'lazy', policy: { idle: { drainMs: 1 } } });
    const client = troupe.openClient({ name: 'agent' });
    const pid = Number(await callIn(client, 'pid'));
    await client.stop();
    await ended(pid);
    expect(isRunning(pid)).toBe(false);
  });

  it('move to the process that one of them started by a restart', async () => {
    const { troupe, at } = open();
    const client = troupe.openClient({ name: 'agent' });
    const pid = await pidIn(troupe);
    await pidIn(client);
    const slow = callIn(troupe, 'pid', { until: at('done') });
    const restarted = await client.restartAndWait('shared');
    expect(restarted.pid).not.toBe(pid);
    writeFileSync(at('done'), '');
    expect(await slow).toBe(String(pid));
    expect(await readyAgain(troupe, pid)).toBe(restarted.pid);
    await ended(pid);
  });

  it('move without a failure, also where a lost session is not reopened', async () => {
    const { troupe } = open({ restart: 'never' });
    const client = troupe.openClient({ name: 'agent' });
    const pid = await pidIn(troupe);
    await pidIn(client);
    await client.restartAndWait('shared');
    await readyAgain(troupe, pid);
    expect(troupe.status('shared')).toMatchObject({ state: 'ready', circuit: 'closed' });
    expect(troupe.status('shared')?.lastError).toBeUndefined();
  });

  it('end a process at once that the last one stops', async () => {
    const { troupe } = open();
    const client = troupe.openClient({ name: 'agent', allow: [] });
    const pid = await pidIn(troupe);
    await client.ready();
    troupe.send({ type: 'server.stop', server: 'shared' });
    await ended(pid);
    expect(isRunning(pid)).toBe(false);
  });

  it('hear nothing of the late questions and lines of a client that left', async () => {
    const asked: unknown[] = [];
    const onQuestion = (question: unknown) => {
      asked.push(question);
      return { action: 'accept', content: {} } as const;
    };
    const { troupe, at } = open({}, { onQuestion: onQuestion as never, questions: ['form'] });
    const client = troupe.openClient({ name: 'agent', questions: ['form'] });
    await Promise.all([pidIn(troupe), pidIn(client)]);
    const hasBegun = once(client, 'server.log', ({ line }) => line === 'stderr secret');
    const lost = callIn(client, 'ask', { word: 'secret', until: at('late') }).catch(() => 'lost');
    await hasBegun;
    await client.stop();
    writeFileSync(at('late'), '');
    expect(await lost).toBe('lost');
    // The server asks before it answers this call.
    expect(await callIn(troupe, 'refused', { until: at('late') })).toBe('1');
    expect(asked).toEqual([]);
    const lines = troupe.logs('shared')?.map(({ line }) => line) ?? [];
    expect(lines.some((line) => line.includes('secret'))).toBe(false);
  });

  it('are asked again after a call of another client could not be sent', async () => {
    const { troupe } = open({}, { questions: ['form'] });
    const onQuestion = () => ({ action: 'accept', content: {} }) as const;
    const client = troupe.openClient({ name: 'agent', questions: ['form'], onQuestion });
    await Promise.all([pidIn(troupe), pidIn(client)]);
    await expect(callIn(troupe, 'echo', { word: 1n })).rejects.toThrow();
    expect(await callIn(client, 'ask', { word: 'one' })).toBe('{"action":"accept","content":{}}');
  });

  it('share the next process after a crash', async () => {
    const { troupe } = open();
    const client = troupe.openClient({ name: 'agent' });
    const pid = await pidIn(troupe);
    await pidIn(client);
    process.kill(pid, 'SIGKILL');
    expect(await readyAgain(troupe, pid)).toBe(await readyAgain(client, pid));
    // Each reports the loss of its own session.
    for (const each of [troupe, client])
      expect(each.status('shared')).toMatchObject({
        restarts: 1,
        lastError: { kind: 'crashed', message: 'The server process was ended by SIGKILL.' },
      });
  });

  it('end with the troupe, which leaves no process', async () => {
    const { troupe } = open();
    const client = troupe.openClient({ name: 'agent' });
    const pid = await pidIn(client);
    await troupe.stop();
    expect(isRunning(pid)).toBe(false);
    expect(client.snapshot().troupe.state).toBe('stopped');
    expect(() => troupe.openClient({ name: 'late' })).toThrow(/has stopped/u);
  });
});
