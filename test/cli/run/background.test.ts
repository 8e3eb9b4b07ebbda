/** The troupe in the background, with real processes. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectControl, connectSocket } from '../../../src/cli/control/control-client.ts';
import { compiledCli } from '../compiled-cli.ts';
import { sharedPlace, socketOf } from './shared-place.ts';

const program = compiledCli();
const limit = { timeout: 180_000 };

const lostCall = {
  isError: true,
  _meta: { 'mcp-troupe/error': { code: 'UNAVAILABLE', outcome: 'unknown' } },
};

describe('the troupe in the background', () => {
  it('is one for 20 hosts that start at once, which share its servers', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server() });
    const hosts = await Promise.all(Array.from({ length: 20 }, () => place.host()));
    const lists = await Promise.all(hosts.map((host) => host.list()));
    for (const { result } of lists)
      expect((result as { tools: unknown[] }).tools.length).toBeGreaterThan(0);
    expect(place.backgrounds()).toHaveLength(1);
    expect(place.servers()).toHaveLength(1);
    expect(hosts.filter((host) => host.notes().includes('running alone'))).toEqual([]);
    const ends = await Promise.all(hosts.map((host) => host.leave()));
    expect(new Set(ends)).toEqual(new Set([0]));
  });

  it('is started again when it was killed, and its calls have an outcome', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server('mute-on-call') });
    const host = await place.host();
    await host.list();
    const [first = 0] = place.backgrounds();
    const lost = host.call('echo', { text: 'hello' });
    await host.list();
    process.kill(first, 'SIGKILL');
    expect((await lost)['result']).toMatchObject(lostCall);
    expect((await host.list())['result']).toHaveProperty('tools');
    expect(place.backgrounds()).not.toContain(first);
    expect(await host.leave()).toBe(0);
  });

  it('is replaced at once when it ends by a signal while calls are in flight', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server('mute-on-call') });
    const [busy, other] = await Promise.all([place.host(), place.host()]);
    const [first = 0] = place.backgrounds();
    const lost = busy.call('echo', { text: 'hello' });
    await Promise.all([busy.list(), other.list()]);
    process.kill(first, 'SIGTERM');
    expect((await lost)['result']).toMatchObject({ isError: true });
    for (const host of [busy, other]) expect((await host.list())['result']).toHaveProperty('tools');
    expect(await Promise.all([busy.leave(), other.leave()])).toEqual([0, 0]);
  });

  it('answers the calls in flight of a gateway that gets a signal', limit, async () => {
    const place = sharedPlace(program);
    const file = path.join(place.folder, 'go');
    const server = place.server('slow-until') as { readonly args: readonly string[] };
    place.writeSettings({ db: { ...server, args: [...server.args, file] } });
    const host = await place.host();
    const called = host.call('slow', { text: 'hello' });
    await host.list();
    const ended = host.stop('SIGTERM');
    writeFileSync(file, '');
    expect((await called)['result']).not.toHaveProperty('isError');
    expect(await ended).toBe(143);
  });

  it('does not keep a gateway whose host left, even if it hangs', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server() });
    const host = await place.host();
    await host.list();
    const [first = 0] = place.backgrounds();
    process.kill(first, 'SIGSTOP');
    const called = host.call('echo', { text: 'hello' });
    expect(await host.leave()).toBe(0);
    expect((await called)['result']).toMatchObject(lostCall);
  });

  it('forgets a client that disconnects while it attaches', limit, async () => {
    const place = sharedPlace(program);
    place.writeSettings({ db: place.server() });
    const host = await place.host();
    const gone = await connectSocket(socketOf(place));
    const args = { name: 'gone', config: [place.settings], bare: false, allow: null, env: {} };
    gone?.write(`${JSON.stringify({ id: 1, command: 'attach', args })}\n`, () => gone.destroy());
    if (gone !== undefined) await once(gone, 'close');
    const control = await connectControl(socketOf(place));
    // A later client attaches after the end of the one that has gone.
    const other = await place.host();
    const { troupe } = (await control?.request('status', {})) ?? {};
    expect(troupe?.clients?.map(({ name }) => name)).toEqual([
      `serve, pid ${host.pid}`,
      `serve, pid ${other.pid}`,
    ]);
    control?.close();
  });
});
