/** The page over a troupe with real servers: it follows, and what is done on it happens. */

import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { controlHandler } from '../../src/cli/control/commands.ts';
import { controlArgs } from '../../src/cli/control/schemas.ts';
import { writeAddressFile } from '../../src/cli/run/address-file.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';
import type { Inspected } from '../../visualizations/server/inspector-api.ts';
import { possibleActs } from '../../visualizations/server/possible-acts.ts';
import { show, startBrowser } from './page-harness.ts';

const stdioServer = path.resolve('test/fixtures/stdio-server.mjs');
const db = { command: process.execPath, args: [stdioServer, 'ok', 'a b'] };

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

function start(scope: 'user' | 'project', servers: object = { db }): Troupe {
  const projectRoot = realpathSync(mkdtempSync(path.join(tmpdir(), 'mcp-troupe-page-')));
  const file = path.join(projectRoot, 'servers.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }));
  const troupe = createTroupe({ projectRoot, sources: [{ file, scope }], inspect: true });
  onTestFinished(async () => {
    await troupe.stop();
    rmSync(projectRoot, { recursive: true, force: true });
  });
  return troupe;
}

function inspected(troupe: Troupe): Inspected {
  const identity = {
    pid: process.pid,
    version: '0.0.0',
    projectRoot: '/project',
    stateFolder: '/state',
    config: [],
    allow: null,
  };
  const handle = controlHandler(troupe, identity);
  return {
    source: troupe.inspection,
    mode: 'live',
    title: '/project',
    acts: (server) => possibleActs(troupe, server),
    command: async (name, args, signal) => {
      const command = name as Parameters<typeof handle>[0];
      return handle(command, controlArgs[command].parse(args) as never, {
        signal,
        emit: () => undefined,
      });
    },
  };
}

describe("a running troupe's page", () => {
  it('updates within 200 ms when a server is killed', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe));
    const tookMs: number[] = [];
    // The quickest of three: the machine may be busy with other things, the page may not be slow.
    for (let round = 0; round < 3; round += 1) {
      const { pid } = await troupe.waitFor('db', 'ready');
      await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
      await page.evaluate(`new Promise((resolve) => {
        window.left = new Promise((seen) => {
          const look = () => {
            if (document.querySelector('[data-tile=db]').dataset.stateOf !== 'ready') seen(Date.now());
            else requestAnimationFrame(look);
          };
          look();
        });
        resolve();
      })`);
      const killedAt = Date.now();
      process.kill(pid ?? 0, 'SIGKILL');
      tookMs.push(Number(await page.evaluate('window.left')) - killedAt);
    }
    expect(Math.min(...tookMs)).toBeLessThan(200);
  });

  it('shows the whole command before the user approves a server', async () => {
    const troupe = start('project');
    await troupe.waitFor('db', 'blocked');
    const { page } = await show(browser, inspected(troupe), '#/fleet?server=db');
    await page.locator('button[data-act=approve]').click();
    const dialog = page.getByRole('dialog');
    const line = await dialog.locator('.command-line').textContent();
    expect(line).toBe(`${process.execPath} ${stdioServer} ok "a b"`);
    expect(troupe.status('db')?.state).toBe('blocked');
    await dialog.locator('[data-decide=approve]').click();
    await troupe.waitFor('db', 'ready');
    await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
  });

  it('calls a tool from a form and shows its result', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe), '#/fleet?server=db');
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.locator('[data-tool=echo]').click();
    await page.getByRole('button', { name: 'Call' }).click();
    await page.locator('[data-outcome=ok]').waitFor();
    expect(await page.locator('.answer-text').textContent()).toBe('{}');
  });

  it('stops a server with a button and then hides the button, with the reason', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe), '#/fleet?server=db');
    await page.locator('button[data-act="server.stop"]').click();
    await troupe.waitFor('db', 'stopped');
    const refused = page.locator('[data-act="server.stop"][data-refused]');
    await refused.waitFor({ state: 'attached' });
    expect(await refused.isVisible()).toBe(false);
    await page.getByText('not possible now').click();
    expect(await refused.textContent()).toContain('this has no effect');
  });

  it('ranks servers by calls, restarts and the memory of their processes', async () => {
    const troupe = start('user', { db, notes: db });
    const { pid = 0 } = await troupe.waitFor('db', 'ready');
    await troupe.waitFor('notes', 'ready');
    for (let count = 0; count < 3; count += 1) await troupe.callServerTool('notes', 'echo', {});
    process.kill(pid, 'SIGKILL');
    await troupe.waitFor('db', 'backingOff');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe));
    await page.getByRole('button', { name: 'Table' }).click();
    const row = (server: string) => page.getByRole('row').filter({ hasText: server });
    const order = () =>
      page
        .locator('[data-tile]')
        .evaluateAll((all) => all.map((each) => each.getAttribute('data-tile')));
    const rankBy = async (title: string): Promise<void> => {
      await page.getByRole('columnheader', { name: title }).getByRole('button').click();
      await page.locator('[aria-sort=descending]', { hasText: title }).waitFor();
    };
    await rankBy('Calls');
    await row('notes').locator('.column-calls').getByText('3').waitFor();
    expect(await order()).toEqual(['notes', 'db']);
    await rankBy('Restarts');
    expect(await order()).toEqual(['db', 'notes']);
    expect(await row('db').locator('.column-restarts').textContent()).toBe('1');
    await rankBy('Memory');
    const memory = row('db').locator('.column-memory');
    await memory.getByText(/^\d+ MB$/u).waitFor();
    expect(Number.parseInt((await memory.textContent()) ?? '', 10)).toBeGreaterThan(20);
    await row('notes').click();
    await page
      .locator('.panel .facts')
      .getByText(/^\d+ MB$/u)
      .waitFor();
    // The memory of the past is nowhere recorded; the calls are.
    await page.keyboard.press('[');
    await memory.getByText('not recorded').waitFor();
    // As of the first call, or of the pause after the last one.
    expect(await row('notes').locator('.column-calls').textContent()).toMatch(/^[13]$/u);
  });

  it('forks a moment without I/O, next to the original', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe), '#/chart?server=db');
    await page.locator('.chart-stage .lit').first().waitFor();
    await page.getByRole('button', { name: 'What if' }).click();
    await page.getByRole('button', { name: 'Fork this moment' }).click();
    await page.getByLabel('Event').selectOption('server.stop');
    await page.getByRole('button', { name: 'Send' }).click();
    const closing = page.locator(
      '.chart-stage.forked [data-state="connection.engaged.live.closing"].lit',
    );
    await closing.waitFor({ state: 'attached' });
    expect(await page.locator('.what-if').textContent()).toContain('server.stop');
    expect(troupe.status('db')?.state).toBe('ready');
  });

  it('shows every recorded moment as it was', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    troupe.send({ type: 'server.stop', server: 'db' });
    await troupe.waitFor('db', 'stopped');
    const { inspection } = troupe;
    const { page } = await show(browser, inspected(troupe));
    await page.locator('[data-tile=db][data-state-of=stopped]').waitFor();
    const seen = new Set<string>();
    for (let n = inspection.first; n <= inspection.last; n += 1) {
      const state = inspection.picture(n)?.servers.find(({ name }) => name === 'db')?.state;
      if (state === undefined) continue;
      seen.add(state);
      await page.evaluate(`location.hash = '#/fleet?at=${n}'`);
      await page.getByText(`record ${n},`).waitFor();
      await page.locator(`[data-tile=db][data-state-of=${state}]`).waitFor();
    }
    expect(seen).toContain('ready');
    expect(seen).toContain('stopped');
    await page.keyboard.press('l');
    await page.getByText('You look at record').waitFor({ state: 'detached' });
  });
});

describe("the inspector's link", () => {
  it('authorizes a tab even after a reload, as well as further tabs', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page, inspector } = await show(browser, inspected(troupe), '#/chart?server=db');
    await page.locator('.chart-stage .lit').first().waitFor();
    expect(await page.evaluate('location.href')).not.toContain('token');
    await page.reload();
    await page.locator('.chart-stage .lit').first().waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`http://127.0.0.1:${inspector.port}/#/fleet`);
    await tab.locator('[data-tile=db][data-state-of=ready]').waitFor();
    // Tabs of a busy machine answer late: this one's answer is held until the new tab has been refused.
    await tab.close();
    await page.evaluate(`{
      const post = BroadcastChannel.prototype.postMessage;
      BroadcastChannel.prototype.postMessage = function (message) {
        window.answer = () => post.call(this, message);
      };
    }`);
    const late = await page.context().newPage();
    await late.goto(`http://127.0.0.1:${inspector.port}/#/fleet`);
    await late.getByText('This page is not authorized').waitFor();
    await page.evaluate('window.answer()');
    await late.locator('[data-tile=db][data-state-of=ready]').waitFor();
    // An answer while the new tab is being refused counts too.
    await late.close();
    const refused = await page.context().newPage();
    let answered = false;
    await refused.route('**/api/session', async (route) => {
      const response = await route.fetch();
      const status = response.status();
      if (status === 401 && !answered) {
        answered = true;
        await page.evaluate('window.answer()');
        await refused.waitForResponse(
          (reply) => reply.url().endsWith('/api/picture') && reply.ok(),
        );
      }
      await route.fulfill({ response });
    });
    const refusal = refused.waitForResponse(
      (reply) => reply.url().endsWith('/api/session') && reply.status() === 401,
    );
    await refused.goto(`http://127.0.0.1:${inspector.port}/#/fleet`);
    await refused.locator('[data-tile=db][data-state-of=ready]').waitFor();
    expect(answered).toBe(true);
    // The refusal arrives last, and takes nothing away: the tab can still be reloaded.
    await (await refusal).finished();
    await refused.evaluate(
      'new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))',
    );
    await refused.reload();
    await refused.locator('[data-tile=db][data-state-of=ready]').waitFor();
    // Another browser is let in by an address of its own, put into the tab that was refused.
    const visitor = await browser.newContext();
    onTestFinished(() => visitor.close());
    const stranger = await visitor.newPage();
    await stranger.goto(`http://127.0.0.1:${inspector.port}/`);
    await stranger.getByText('This page is not authorized').waitFor();
    await stranger.goto(inspector.newAddress());
    await stranger.locator('[data-tile=db][data-state-of=ready]').waitFor();
  });

  it('is opened through a private file, which is removed after use', async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page, inspector } = await show(browser, inspected(troupe));
    const stateFolder = realpathSync(mkdtempSync(path.join(tmpdir(), 'mcp-troupe-state-')));
    onTestFinished(() => rmSync(stateFolder, { recursive: true, force: true }));
    const file = await writeAddressFile(inspector, inspector.newAddress(), stateFolder);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    const visitor = await browser.newContext();
    onTestFinished(() => visitor.close());
    const opened = await visitor.newPage();
    await opened.goto(`file://${file}`);
    await opened.locator('[data-tile=db][data-state-of=ready]').waitFor();
    expect(existsSync(file)).toBe(false);
    expect(await page.locator('[data-tile=db]').count()).toBe(1);
  });

  it("downloads the journal and a server's test as files without a cookie", async () => {
    const troupe = start('user');
    await troupe.waitFor('db', 'ready');
    const { page } = await show(browser, inspected(troupe));
    await page.getByRole('button', { name: 'Export' }).click();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Journal as a bug report' }).click();
    const saved = await (await saving).path();
    expect(readFileSync(saved, 'utf8')).toContain('"kind":"journal"');
  });
});

describe("the inspector's access control", () => {
  it('refuses pages without a valid link or from another origin', async () => {
    const troupe = start('user', {});
    const commands: string[] = [];
    const command = (name: string): Promise<unknown> => {
      // The page itself looks for questions of servers.
      if (name !== 'questions') commands.push(name);
      return Promise.resolve({ questions: [] });
    };
    const { page, inspector } = await show(browser, { ...inspected(troupe), command });
    await page.getByText('No servers').waitFor();
    const cookies: unknown[] = [];
    const other = createServer(({ url, headers }, response) => {
      if (url === '/') cookies.push(headers.cookie);
      response.setHeader('content-type', 'text/html').end('<title>other</title>');
    });
    await new Promise<void>((resolve) => {
      other.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => void other.close());
    const visitor = await browser.newContext();
    onTestFinished(() => visitor.close());
    const stranger = await visitor.newPage();
    const home = `http://127.0.0.1:${inspector.port}`;
    await stranger.goto(`${home}/`);
    await stranger.getByText('This page is not authorized').waitFor();
    expect(await stranger.locator('[data-tile]').count()).toBe(0);
    // In the very browser that was let in, but on another site's page.
    const tab = await page.context().newPage();
    await tab.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    expect(cookies).toEqual([undefined]);
    expect(await page.context().cookies()).toEqual([]);
    const asked = `fetch('${home}/api/session', { credentials: 'include' }).then(() => 'read', () => 'refused')`;
    expect(await tab.evaluate(asked)).toBe('refused');
    const acted = `fetch('${home}/api/command', {
      method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"command":"reload"}',
    }).then(() => 'answered', () => 'refused')`;
    expect(await tab.evaluate(acted)).toBe('refused');
    expect(commands).toEqual([]);
    const rebound = await page.request.get(`${home}/api/session`, {
      headers: { host: 'evil.example' },
    });
    expect(rebound.status()).toBe(403);
  });
});
