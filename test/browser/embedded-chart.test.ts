/** The element `<troupe-chart>` in a plain page of another program, which shows a real server. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';
import { startInspector } from '../../visualizations/server/inspector-server.ts';
import { startBrowser } from './page-harness.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>A host</title>
<meta name="color-scheme" content="light dark">
<script type="module" src="/troupe-chart.js"></script>
<script type="module" src="/troupe-chart.js?another-copy"></script>
<troupe-chart id="followed" server="db" src="/troupe/"></troupe-chart>
<troupe-chart id="given" server="db"></troupe-chart>
<troupe-chart id="named" state="failed.attemptsExhausted"></troupe-chart>
<troupe-chart id="circuit" chart="circuit" server="db"></troupe-chart></html>`;
// Nothing but the page's own files, and no style in the page.
const policy = [
  "default-src 'none'; script-src 'self'; connect-src 'self'",
  "require-trusted-types-for 'script'; trusted-types troupe-chart",
].join('; ');

function startTroupe(): Troupe {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-embedded-'));
  const db = { command: process.execPath, args: [path.resolve('test/fixtures/stdio-server.mjs')] };
  const troupe = createTroupe({
    projectRoot: folder,
    settings: { mcpServers: { db } },
    inspect: true,
  });
  onTestFinished(async () => {
    await troupe.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return troupe;
}

/** A host's server: its page, the status of its troupe, and what may be read of an inspector. */
async function startHost(
  troupe: Troupe,
): Promise<{ readonly home: string; readonly closeInspector: () => void }> {
  const inspector = await startInspector({
    source: troupe.inspection,
    mode: 'live',
    title: 'host',
  });
  const [home = '', token = ''] = inspector.newAddress().split('#token=');
  const entered = await fetch(`${home}api/enter`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, origin: home.slice(0, -1) },
  });
  const { secret } = (await entered.json()) as { secret: string };
  const passOn = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const over = new AbortController();
    response.on('close', () => over.abort());
    const answer = await fetch(home + (request.url ?? '').slice('/troupe/'.length), {
      headers: { authorization: `Bearer ${secret}` },
      signal: over.signal,
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    if (answer.body === null) response.end();
    else
      Readable.fromWeb(answer.body as never)
        .on('error', () => response.end())
        .pipe(response);
  };
  const server = createServer((request, response) => {
    if (/^\/troupe\/api\/(?:picture|stream)/u.test(request.url ?? '')) {
      passOn(request, response).catch(() => response.destroy());
    } else if (request.url?.startsWith('/troupe-chart.js') === true) {
      response.setHeader('content-type', 'text/javascript');
      response.end(readFileSync('dist/inspector/troupe-chart.js'));
    } else if (request.url === '/status') response.end(JSON.stringify(troupe.snapshot()));
    else {
      response.setHeader('content-type', 'text/html');
      response.setHeader('content-security-policy', policy);
      response.end(html);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    inspector.close();
  });
  const { port } = server.address() as AddressInfo;
  return { home: `http://127.0.0.1:${port}/`, closeInspector: () => inspector.close() };
}

const fillOfBox = `getComputedStyle(document.getElementById('circuit').shadowRoot
  .querySelector('.state:not(.lit):not(.compound) > .box')).fill`;

/** The lit states of an element, in one line. */
async function litIn(page: Page, id: string): Promise<string> {
  const lit = page.locator(`#${id} .state.lit`);
  const paths = await lit.evaluateAll((all) => all.map((each) => each.getAttribute('data-state')));
  return paths.join(' ');
}

it('<troupe-chart> shows a real server on a page of another program', async () => {
  const troupe = startTroupe();
  await troupe.waitFor('db', 'ready');
  const { home, closeInspector } = await startHost(troupe);
  const context = await browser.newContext({ viewport: { width: 1_000, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (/content security policy/iu.test(message.text())) complaints.push(message.text());
  });
  await page.goto(home);
  const isReady =
    '[data-state="connection.engaged"].lit, [data-state="connection.engaged.live.ready"].lit';
  await page.locator('#followed').locator(isReady).first().waitFor({ state: 'attached' });
  expect(await page.getByRole('img', { name: 'Connection, db: ready' }).count()).toBe(1);
  // Nothing in it can be pressed or reached by key.
  expect(await page.locator('troupe-chart').locator('[tabindex], [role=button]').count()).toBe(0);
  expect(await litIn(page, 'named')).toBe('connection.parked');
  expect(await page.locator('#named .lit').textContent()).toContain('attemptsExhausted');
  expect(await litIn(page, 'given')).toBe('');
  const give = `fetch('/status').then((answer) => answer.json()).then((status) => {
    for (const id of ['given', 'circuit']) document.getElementById(id).status = status;
  })`;
  await page.evaluate(give);
  expect(await litIn(page, 'circuit')).toBe('circuit.closed');
  expect(await litIn(page, 'given')).toBe(await litIn(page, 'followed'));
  // Light or dark, as the page around it.
  const fills: unknown[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    fills.push(await page.evaluate(fillOfBox));
  }
  expect(fills).toEqual(['rgb(255, 255, 255)', 'rgb(23, 32, 51)']);
  // It follows, and says so when it no longer can.
  troupe.send({ type: 'server.stop', server: 'db' });
  await page.getByRole('img', { name: 'Connection, db: stopped' }).waitFor();
  await page.locator('#followed').getByText('▸ stopped').waitFor();
  await page.evaluate(give);
  expect(await litIn(page, 'given')).toBe('connection.parked');
  // A narrow one has the drawing for a phone, which fits as well.
  await page.evaluate(`document.getElementById('given').style.width = '380px'`);
  await page.locator('#given svg[width="337"]').waitFor();
  const box = await page.locator('#given svg').boundingBox();
  expect(box?.width).toBeLessThanOrEqual(380);
  closeInspector();
  await page.getByRole('img', { name: 'Connection, not connected' }).waitFor();
  await page.locator('#followed .frame.lost').getByText('▸ stopped').waitFor();
  expect(complaints).toEqual([]);
});
