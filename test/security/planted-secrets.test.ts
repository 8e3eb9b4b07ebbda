/** F170: plants secrets wherever settings and servers can hold them, and searches every output for them. */

import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { startInspector } from '../../visualizations/server/inspector-server.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { recordTelemetry } from '../support/telemetry-recorder.ts';
import { Browser } from '../visualizations/server/browser.ts';

const planted = {
  env: 'canary-env-3f81c2a97d',
  header: 'canary-header-9b6d10e4c7',
  password: 'canary-password-55e1d07a2b',
  query: 'canary-query-c4029f6be8',
  argument: 'canary-argument-7ad3b9150e',
  bearer: 'canary-bearer-e80b64f21d',
  proxy: 'canary-proxy-0b7e93c1fa',
  passphrase: 'canary-passphrase-6d2f8a41c9',
};

// Tells all that it was given, and ends: by its last words and with its exit code.
const gossip =
  'console.error(process.env.API_TOKEN, process.argv.slice(1).join(" ")); setTimeout(() => process.exit(3), 50)';

/** A server that repeats in its error all that it was sent. */
async function startEcho(): Promise<number> {
  const server = createServer((request, response) => {
    const said = JSON.stringify([request.url, request.headers]);
    response.writeHead(500, { 'content-type': 'text/plain' }).end(said);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function textsBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name);
    return statSync(file).isDirectory() ? textsBelow(file) : [readFileSync(file, 'utf8')];
  });
}

it('planted secrets never appear in statuses, explanations, logs, events, records, contexts, journals or files', async () => {
  const port = await startEcho();
  const stateFolder = temporaryFolder();
  // Without the waits for busy servers, so that both fail for good.
  const startup = { maxAttempts: 2, afterGiveUp: 'stop', busyBackoff: null };
  const restart = { delays: [50] };
  const troupe = createTroupe({
    stateDir: stateFolder,
    inspect: { journal: path.join(stateFolder, 'j.ndjson') },
    settings: {
      mcpServers: {
        gossip: {
          command: process.execPath,
          args: ['-e', gossip, `--api-key=${planted.argument}`],
          env: { API_TOKEN: planted.env },
          policy: { startup, restart },
        },
        echo: {
          url: `http://127.0.0.1:${port}/mcp?api_key=${planted.query}`,
          headers: { 'x-api-key': planted.header, authorization: `Bearer ${planted.bearer}` },
          policy: { startup, restart },
        },
        // The server acts as a proxy that repeats its login.
        proxied: {
          url: 'http://server.test/mcp',
          proxy: `http://me:${planted.proxy}@127.0.0.1:${port}`,
          policy: { startup, restart },
        },
        locked: {
          url: `https://127.0.0.1:${port}/mcp`,
          tls: { cert: 'none.pem', passphrase: planted.passphrase },
          policy: { startup, restart },
        },
        // A URL with credentials is refused.
        refused: { url: `http://user:${planted.password}@127.0.0.1:${port}/mcp` },
      },
    },
  });
  const told: unknown[] = [];
  troupe.on('status.changed', (event) => told.push(event));
  troupe.on('server.log', (event) => told.push(event));
  const inspector = await startInspector({
    source: troupe.inspection,
    mode: 'live',
    title: '/project',
  });
  onTestFinished(() => inspector.close());
  onTestFinished(() => troupe.stop());
  const fails = (name: string) => troupe.waitFor(name, 'failed', { timeoutMs: 30_000 });
  await Promise.all(['gossip', 'echo', 'proxied', 'locked'].map(fails));
  await troupe.waitFor('refused', 'blocked', { timeoutMs: 30_000 });
  const browser = await Browser.of(inspector);
  const actors = troupe.inspection.picture()?.actors ?? [];
  const seen: readonly string[] = [
    JSON.stringify(troupe.snapshot()),
    JSON.stringify(
      ['gossip', 'echo', 'refused'].map((name) => [troupe.explain(name), troupe.logs(name)]),
    ),
    JSON.stringify(told),
    JSON.stringify(await troupe.plan()),
    JSON.stringify(troupe.approvals()),
    (await browser.get('/api/records?from=1')).body,
    (await browser.get('/api/picture')).body,
    (await browser.get('/api/journal')).body,
    ...(await Promise.all(
      actors.map(async ({ actor }) => (await browser.get(`/api/actors/${actor}/context`)).body),
    )),
  ];
  // They were really given to the servers, whose words really reached us.
  expect(JSON.stringify(troupe.logs('gossip'))).toContain('--api-key=');
  expect(seen[5]).toContain('xstate.done.actor.resolveTarget');
  await troupe.stop();
  const all = [...seen, ...textsBelow(stateFolder)];
  expect(all.length).toBeGreaterThan(10);
  for (const [place, secret] of Object.entries(planted)) {
    const leaks = all.flatMap((text) => {
      const at = text.indexOf(secret);
      return at === -1 ? [] : [text.slice(Math.max(0, at - 120), at)];
    });
    expect([place, leaks]).toEqual([place, []]);
  }
});

// What no settings hold, so that only its looks give it away.
const own = {
  bearer: 'sk-canary-5b1f0c9e7a2d',
  password: 'canary-secret-81d2c4',
  key: 'ghp_canary0f8e7d6c5b4a',
  apiKey: 'canary-api-key-77aa',
  cookie: 'canary-cookie-3c2b1a',
};
const confession = `Authorization: Bearer ${own.bearer} at postgres://u:${own.password}@db/x, ${own.key}, api_key=${own.apiKey}`;
const ownServer = fileURLToPath(new URL('../fixtures/confessing-server.mjs', import.meta.url));

it('secrets that a server prints never appear in logs, errors, statuses, events, spans or records', async () => {
  const stateFolder = temporaryFolder();
  const telemetry = recordTelemetry();
  const file = path.join(temporaryFolder(), 'confession');
  const entry = (mode: string) => ({
    command: process.execPath,
    args: [ownServer, mode],
    env: { CONFESSION_FILE: file },
    policy: {
      startup: { maxAttempts: 1, afterGiveUp: 'stop' },
      restart: { on: 'never' },
    },
  });
  writeFileSync(file, `${confession}\nset-cookie: id=${own.cookie}\n`);
  const modes = ['handshake', 'list', 'dies', 'serves'];
  const troupe = createTroupe({
    stateDir: stateFolder,
    telemetry: telemetry.providers,
    inspect: { journal: path.join(stateFolder, 'j.ndjson') },
    settings: {
      mcpServers: Object.fromEntries(modes.map((mode) => [mode, entry(mode)])),
    },
  });
  onTestFinished(() => troupe.stop());
  const told: unknown[] = [];
  troupe.on('status.changed', (event) => told.push(event));
  troupe.on('server.log', (event) => told.push(event));
  await Promise.all(
    ['handshake', 'list', 'dies'].map((name) =>
      troupe.waitFor(name, 'failed', { timeoutMs: 30_000 }),
    ),
  );
  await troupe.waitFor('serves', 'ready', { timeoutMs: 30_000 });
  const refused = await troupe.callServerTool('serves', 'refuse').catch((error: unknown) => error);
  const answered = await troupe.callServerTool('serves', 'echo');
  const died = await troupe.callServerTool('serves', 'die').catch((error: unknown) => error);
  expect(died).toMatchObject({ code: 'CRASHED' });
  await troupe.waitFor('serves', 'failed', { timeoutMs: 30_000 });
  const words = (error: unknown): string =>
    JSON.stringify([String(error), error, error instanceof Error ? error.cause : undefined]);
  const seen: Readonly<Record<string, string>> = {
    snapshot: JSON.stringify(troupe.snapshot()),
    explanations: JSON.stringify(modes.map((name) => troupe.explain(name))),
    logs: JSON.stringify(modes.map((name) => troupe.logs(name))),
    events: JSON.stringify(told),
    errors: words(refused) + words(died),
    picture: JSON.stringify(troupe.inspection.picture()),
    spans: await telemetry.text(),
    plan: JSON.stringify(await troupe.plan()),
  };
  await troupe.stop();
  // The words did arrive everywhere, without their secrets.
  for (const place of ['snapshot', 'explanations', 'logs', 'events', 'errors'])
    expect([place, seen[place]]).toEqual([place, expect.stringContaining('[redacted]')]);
  // What the host asked for is its own.
  expect(JSON.stringify(answered)).toContain(own.bearer);
  const all = { ...seen, files: textsBelow(stateFolder).join('\n') };
  const leaks = Object.entries(all).flatMap(([place, text]) =>
    Object.values(own).flatMap((secret) => {
      const at = text.indexOf(secret);
      return at === -1 ? [] : [[place, text.slice(Math.max(0, at - 120), at + 40)]];
    }),
  );
  expect(leaks).toEqual([]);
});
