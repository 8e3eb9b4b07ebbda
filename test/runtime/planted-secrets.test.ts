/** F170: what nobody may see, planted wherever settings and servers can hold it, and looked for wherever it could come out. */

import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../src/index.ts';
import { startInspector } from '../../src/inspector/inspector-server.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { Browser } from '../inspector/browser.ts';

const planted = {
  env: 'canary-env-3f81c2a97d',
  header: 'canary-header-9b6d10e4c7',
  password: 'canary-password-55e1d07a2b',
  query: 'canary-query-c4029f6be8',
  argument: 'canary-argument-7ad3b9150e',
  bearer: 'canary-bearer-e80b64f21d',
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

it('come out nowhere: status, explanation, log, events, records, contexts, journal, files', async () => {
  const port = await startEcho();
  const stateFolder = temporaryFolder();
  const startup = { maxAttempts: 2 };
  const troupe = createTroupe({
    stateDir: stateFolder,
    inspect: { journal: path.join(stateFolder, 'j.ndjson') },
    settings: {
      mcpServers: {
        gossip: {
          command: process.execPath,
          args: ['-e', gossip, `--api-key=${planted.argument}`],
          env: { API_TOKEN: planted.env },
          policy: { startup },
        },
        echo: {
          url: `http://127.0.0.1:${port}/mcp?api_key=${planted.query}`,
          headers: { 'x-api-key': planted.header, authorization: `Bearer ${planted.bearer}` },
          policy: { startup },
        },
        // Nobody is let in who has it in his address.
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
  const backsOff = (name: string) => troupe.waitFor(name, 'backingOff', { timeoutMs: 30_000 });
  await Promise.all([backsOff('gossip'), backsOff('echo')]);
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
  expect(seen[5]).toContain('session.closed');
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
}, 60_000);
