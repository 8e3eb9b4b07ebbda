/** The inspector's page in a real browser, watched: what it asks for, and what its policy forbids. */

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Inspected } from '../../visualizations/server/inspector-api.ts';
import {
  type InspectorServer,
  startInspector,
} from '../../visualizations/server/inspector-server.ts';

// Where Debian puts it; another place is named by the variable that Chrome's own tools use.
const executablePath = process.env['CHROME_BIN'] ?? '/usr/bin/chromium';

export interface Shown {
  readonly page: Page;
  readonly inspector: InspectorServer;
  /** What went wrong on the page so far: errors, broken policy, requests to elsewhere. */
  readonly complaints: readonly string[];
}

export async function startBrowser(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(`there is no ${executablePath}; install chromium, or set CHROME_BIN`);
  }
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** Opens the page of what is inspected. The test fails when anything goes wrong on it. */
export async function show(
  browser: Browser,
  inspected: Inspected,
  hash = '',
  options: BrowserContextOptions = {},
): Promise<Shown> {
  const inspector = await startInspector(inspected);
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  const own = `http://127.0.0.1:${inspector.port}/`;
  page.on('request', (request) => {
    const url = request.url();
    const isOwn = url.startsWith(own) || url.startsWith('data:') || url.startsWith(`blob:${own}`);
    if (!isOwn) complaints.push(`asked for ${url}`);
  });
  page.on('pageerror', (error) => complaints.push(`threw ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`opened a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/content security policy/iu.test(message.text())) complaints.push(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    inspector.close();
    expect(complaints).toEqual([]);
  });
  // An address may lead to a place on the page as well.
  const [home = '', token = ''] = inspector.newAddress().split('#');
  const [place = '#/fleet', query = ''] = hash.split('?');
  await page.goto(`${home}${place || '#/fleet'}?${query}&${token}`);
  return { page, inspector, complaints };
}
