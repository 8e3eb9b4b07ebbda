/** A server before 2026-07-28 over stdio, behind the gateway, that asks beside other calls and late. */

import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createPlace, type Place } from '../../cli/cli-process.ts';
import { compiledCli } from '../../cli/compiled-cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));
const program = compiledCli();
// Starts two processes that each load an SDK, possibly on a busy machine.
const limit = { timeout: 180_000 };

function placeWith(server = 'late-asking-server.mjs'): Place {
  const place = createPlace(program);
  const env = { [place.mark]: '1' };
  place.writeSettings({ db: { command: process.execPath, args: [fixture(server)], env } });
  return place;
}

type Mode = 'legacy' | 'auto';

interface AskedClient {
  readonly client: Client;
  readonly asked: string[];
  /** The reasons why questions were declined for which it was not asked. */
  readonly reasons: string[];
  readonly text: (tool: string, args?: object) => Promise<string>;
  /** Cancels a call once the server has it. */
  readonly cancelCall: (tool: string) => Promise<void>;
}

async function join(
  name: string,
  mode: Mode,
  transport: Parameters<Client['connect']>[0],
): Promise<AskedClient> {
  const client = new Client(
    { name, version: '1.0.0' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  const [asked, reasons]: [string[], string[]] = [[], []];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.message);
    return { action: 'accept', content: { value: name } };
  });
  client.setNotificationHandler('notifications/message', ({ params }) => {
    if (params.logger === 'mcp-troupe') reasons.push(String(params.data));
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const text = async (tool: string, args = {}): Promise<string> => {
    const { content } = await client.callTool({ name: `db__${tool}`, arguments: { ...args } });
    const [block] = content;
    return block?.type === 'text' ? block.text : '';
  };
  return {
    client,
    asked,
    reasons,
    text,
    async cancelCall(tool) {
      const stop = new AbortController();
      const call = client.callTool({ name: `db__${tool}`, arguments: {} }, { signal: stop.signal });
      await text('hasBegun', { tool });
      stop.abort();
      await expect(call).rejects.toThrow();
    },
  };
}

describe.each(['legacy', 'auto'] as const)('the only client of the gateway (%s)', (mode) => {
  it('is asked beside its other calls and after a cancelled one', limit, async () => {
    const place = placeWith();
    const folders = ['--project', place.folder, '--state-dir', `${place.folder}/state`];
    const words = [...program.words, 'serve', '--alone', '--config', place.settings, ...folders];
    const launch = { command: process.execPath, args: words, cwd: root, stderr: 'ignore' as const };
    const { asked, text, client, cancelCall } = await join(
      'Ada',
      mode,
      new StdioClientTransport(launch),
    );
    await cancelCall('wait');
    expect(await text('ask', { message: 'after' })).toBe('after: accept Ada');
    const stop = new AbortController();
    const other = client.callTool({ name: 'db__wait', arguments: {} }, { signal: stop.signal });
    const both = ['one', 'two'].map((message) => text('ask', { message }));
    expect(await Promise.all(both)).toEqual(['one: accept Ada', 'two: accept Ada']);
    stop.abort();
    await expect(other).rejects.toThrow();
    expect(asked.toSorted()).toEqual(['after', 'one', 'two']);
    await client.close();
    await place.isEmpty();
  });
});

describe.each(['legacy', 'auto'] as const)('two clients of the gateway (%s, legacy)', (first) => {
  it('are never asked for each other', limit, async () => {
    const place = placeWith();
    const run = place.start('serve', '--config', place.settings, '--http', '0', '--no-auth');
    const [url] = (await run.printed(/http:\/\/127\.0\.0\.1:\d+\/mcp/u)) as [string];
    const [ada, bob] = [
      await join('Ada', first, new StreamableHTTPClientTransport(new URL(url))),
      await join('Bob', 'legacy', new StreamableHTTPClientTransport(new URL(url))),
    ];
    expect(await bob.text('ask', { message: 'alone' })).toBe('alone: accept Bob');
    // Her call asks after she cancelled it: not him, even while a call of his is in flight.
    const his = bob.client.callTool({ name: 'db__wait', arguments: {} }).catch(() => undefined);
    await ada.cancelCall('late');
    expect(await bob.text('lateAnswer')).toBe('late: decline');
    expect([ada.asked, bob.asked]).toEqual([[], ['alone']]);
    // Now the server has read that her call is over, so its questions are his.
    expect(await bob.text('ask', { message: 'after' })).toBe('after: accept Bob');
    expect(await ada.text('ask', { message: 'beside' })).toBe('beside: decline');
    await ada.client.close();
    expect(await bob.text('ask', { message: 'left' })).toBe('left: accept Bob');
    expect([ada.asked, bob.asked]).toEqual([[], ['alone', 'after', 'left']]);
    expect(bob.reasons.join()).toMatch(/another client|several clients/u);
    await bob.client.close();
    await his;
    run.child.kill('SIGTERM');
    await run.ended;
  });
});

describe.each(['legacy', 'auto'] as const)('two clients of equal name (%s, auto)', (first) => {
  it(
    'are never asked for each other, and those of 2026-07-28 not beside other calls',
    limit,
    async () => {
      const place = placeWith();
      const run = place.start('serve', '--config', place.settings, '--http', '0', '--no-auth');
      const [url] = (await run.printed(/http:\/\/127\.0\.0\.1:\d+\/mcp/u)) as [string];
      const [one, other] = [
        await join('Ada', first, new StreamableHTTPClientTransport(new URL(url))),
        await join('Ada', 'auto', new StreamableHTTPClientTransport(new URL(url))),
      ];
      expect(await other.text('ask', { message: 'alone' })).toBe('alone: accept Ada');
      const waiting = other.client
        .callTool({ name: 'db__wait', arguments: {} })
        .catch(() => undefined);
      await other.text('hasBegun', { tool: 'wait' });
      // The call asks after it was cancelled.
      await one.cancelCall('late');
      expect(await other.text('lateAnswer')).toBe('late: decline');
      expect(await one.text('ask', { message: 'beside' })).toBe('beside: decline');
      // Nothing shows whose request the waiting one is.
      expect(await other.text('ask', { message: 'own' })).toBe('own: decline');
      expect([one.asked, other.asked]).toEqual([[], ['alone']]);
      await one.client.close();
      await other.client.close();
      await waiting;
      run.child.kill('SIGTERM');
      await run.ended;
    },
  );
});

describe('clients of a server of 2026-07-28 behind the gateway', () => {
  it('answer the questions of their own calls only, side by side', limit, async () => {
    const place = placeWith('asking-server.mjs');
    const run = place.start('serve', '--config', place.settings, '--http', '0', '--no-auth');
    const [url] = (await run.printed(/http:\/\/127\.0\.0\.1:\d+\/mcp/u)) as [string];
    const clients = await Promise.all(
      (['legacy', 'auto', 'legacy'] as const).map((mode, index) =>
        join(`client${index}`, mode, new StreamableHTTPClientTransport(new URL(url))),
      ),
    );
    const said = clients.flatMap(({ text }) => [text('greet'), text('greet')]);
    expect(await Promise.all(said)).toEqual(
      clients.flatMap((_client, index) => {
        const name = `client${index} client${index}`;
        return [name, name];
      }),
    );
    const twice = ['First name?', 'First name?', 'Last name?', 'Last name?'];
    for (const { asked } of clients) expect(asked.toSorted()).toEqual(twice);
    for (const { client } of clients) await client.close();
    run.child.kill('SIGTERM');
    await run.ended;
  });
});
