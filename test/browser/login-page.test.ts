/** Logins on the page: a real troupe, a real issuer, and what a user does in the browser. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { inspectHere } from '../../src/cli/run/inspect-here.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import type { IssuerSettings } from '../support/issuer/settings.ts';
import { expectReadableCharts } from './chart-reading.ts';
import { startBrowser } from './page-harness.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** A troupe with two servers of one issuer that wait for a login, and its page. */
async function showLogins(
  settings: Partial<IssuerSettings> = {},
  options: BrowserContextOptions = {},
) {
  const issuer = await startTestIssuer({ consent: 'ask', ...settings });
  onTestFinished(() => issuer.close());
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-login-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const mcpServers = { db: { url: issuer.server }, notes: { url: issuer.server } };
  const troupe = createTroupe({ bare: true, settings: { mcpServers }, stateDir: folder });
  onTestFinished(() => troupe.stop());
  const identity = { pid: process.pid, version: '0.0.0', projectRoot: folder, stateFolder: folder };
  const inspect = inspectHere(troupe, { ...identity, config: [], allow: null });
  onTestFinished(() => inspect.close());
  await troupe.waitFor('db', 'authRequired');
  await troupe.waitFor('notes', 'authRequired');
  const context = await browser.newContext({
    viewport: { width: 1_280, height: 800 },
    ...options,
  });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const texts: string[] = [];
  page.on('response', (response) => {
    if (response.url().includes('/api/command')) return;
    void response.text().then(
      (text) => texts.push(text),
      () => undefined,
    );
  });
  const [home = '', token = ''] = (await inspect.address()).split('#');
  await page.goto(`${home}#/fleet?${token}`);
  await page.locator('[data-tile=db][data-state-of=authRequired]').waitFor();
  return { issuer, troupe, page, texts };
}

/** Presses a button on the page that opens the issuer's page in a new tab. */
async function openedBy(page: Page, selector: string): Promise<Page> {
  const opened = page.context().waitForEvent('page');
  await page.locator(selector).click();
  const tab = await opened;
  await tab.getByRole('button', { name: 'Allow' }).waitFor();
  return tab;
}

/** Every secret value of this login. */
function secretsOf(issuer: TestIssuer): ReadonlySet<string> {
  const found = new Set<string>();
  const take = (value: string | null): void => {
    if (value !== null && value.length > 8) found.add(value);
  };
  for (const { query, form, headers } of issuer.seen) {
    take(query.get('state'));
    for (const name of ['code', 'code_verifier', 'refresh_token']) take(form.get(name));
    take(headers.authorization?.split(' ')[1] ?? null);
  }
  return found;
}

const domText = `document.documentElement.outerHTML`;

describe('a login on the page', () => {
  it('is made with a button, and leaves no secret on the page or in the records', async () => {
    const { issuer, troupe, page, texts } = await showLogins({ issuerPath: '/tenant' });
    await page.locator('[data-tile=db]').click();
    const tab = await openedBy(page, '.panel [data-act=login]');
    expect(new URL(tab.url()).origin).toBe(issuer.origin);
    expect(await tab.evaluate('window.opener')).toBeNull();
    const waiting = page.locator('[data-login-state="signingIn.awaitingUser"]').first();
    await waiting.waitFor();
    await page.getByText(`Log in at ${new URL(issuer.origin).host}`).waitFor();
    const doms = [await page.evaluate(domText)];
    await tab.getByRole('button', { name: 'Allow' }).click();
    await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
    await page.locator('[data-tile=notes][data-state-of=ready]').waitFor();
    await page.getByRole('button', { name: 'Show the login' }).click();
    const panel = page.locator('[data-login-panel]');
    await panel.getByText(issuer.issuer()).waitFor();
    expect(await panel.textContent()).toMatch(/in \d+ min/u);
    await panel.locator('[data-state="authorized"].lit').waitFor({ state: 'attached' });
    doms.push(await page.evaluate(domText));
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'db', exact: true }).waitFor();
    await page.goBack();
    await panel.getByRole('button', { name: 'notes' }).click();
    await page.getByRole('heading', { name: 'notes', exact: true }).waitFor();
    const { inspection } = troupe;
    const records = JSON.stringify([
      inspection.picture(),
      inspection.records(1, 10_000),
      ...(inspection.picture()?.actors ?? []).map(({ actor }) => inspection.context(actor)),
    ]);
    const secrets = secretsOf(issuer);
    // One state, code, verifier and access token each, at least.
    expect(secrets.size).toBeGreaterThanOrEqual(4);
    for (const text of [records, ...texts, ...doms])
      for (const secret of secrets) expect(text).not.toContain(secret);
    expect(texts.length).toBeGreaterThan(5);
  });

  it('is started from a tile, shows a refusal with its reason, and can be repeated', async () => {
    const { page, issuer } = await showLogins();
    const tab = await openedBy(page, '[data-login=db]');
    await tab.getByRole('button', { name: 'Deny' }).click();
    await page.locator('[data-tile=db]').click();
    await page.locator('[data-login-state="unauthorized.denied"]').waitFor();
    const why = page.getByRole('group', { name: 'Why the login failed' });
    await why.getByText('denied', { exact: true }).waitFor();
    expect(await page.locator('.next-step code').textContent()).toBe('troupe login db');
    const again = await openedBy(page, '.panel [data-act=login]');
    await again.getByRole('button', { name: 'Allow' }).click();
    await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
    await page.getByRole('button', { name: 'Show the login' }).click();
    await page.locator('[data-login-panel] [data-act=logout]').click();
    await page.locator('[data-tile=db][data-state-of=authRequired]').waitFor();
    await page.locator('[data-login-state="unauthorized.signedOut"]').waitFor();
    expect(issuer.counts.revocations).toBeGreaterThan(0);
  });

  it('is cancelled, and goes on after the page is reloaded', async () => {
    const { page, troupe } = await showLogins();
    await page.locator('[data-tile=db]').click();
    await openedBy(page, '.panel [data-act=login]');
    await page.getByRole('button', { name: 'Show the login' }).click();
    const panel = page.locator('[data-login-panel]');
    await panel.getByRole('button', { name: 'Open the login page' }).waitFor();
    await page.reload();
    await panel.getByText('waits for a browser that was opened elsewhere').waitFor();
    await panel.locator('[data-act=cancelLogin]').click();
    await page.locator('[data-login-state="unauthorized.signedOut"]').waitFor();
    expect(troupe.status('db')).toMatchObject({ state: 'authRequired' });
    const tab = await openedBy(page, '[data-login-panel] [data-act=login]');
    await tab.getByRole('button', { name: 'Allow' }).click();
    await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
  });

  it('offers a button where the browser has blocked the tab', async () => {
    const { page, troupe } = await showLogins();
    await page.evaluate('window.kept = window.open; window.open = () => null');
    await page.locator('[data-tile=db]').click();
    await page.locator('.panel [data-act=login]').click();
    const open = page.getByRole('button', { name: 'Open the login page' });
    await open.waitFor();
    await page.evaluate('window.open = window.kept');
    const opened = page.context().waitForEvent('page');
    await open.focus();
    await page.keyboard.press('Enter');
    const tab = await opened;
    await tab.getByRole('button', { name: 'Allow' }).click();
    await page.locator('[data-tile=db][data-state-of=ready]').waitFor();
    expect(troupe.status('db')).toMatchObject({ state: 'ready' });
  });

  it('has a chart that can be read at full size while folded: a laptop and a phone', async () => {
    const { page } = await showLogins({}, { reducedMotion: 'reduce' });
    for (const size of [
      { width: 1_440, height: 900 } as const,
      { width: 390, height: 844 } as const,
    ]) {
      await page.setViewportSize(size);
      await page.evaluate('location.hash = "#/chart?server=db"');
      await page.getByRole('tab', { name: 'A login' }).waitFor();
      expect(await expectReadableCharts(page)).toBe(5);
    }
    await page.locator('[data-state="unauthorized"].folded.lit').waitFor();
  });
});
