/** Questions of a real server, answered on the page. */

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { controlHandler } from '../../src/cli/control/commands.ts';
import { controlArgs } from '../../src/cli/control/schemas.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import type { Inspected } from '../../visualizations/server/inspector-api.ts';
import { possibleActs } from '../../visualizations/server/possible-acts.ts';
import { show, startBrowser } from './page-harness.ts';

const everything = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
);
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** A page over a troupe whose server asks when `ask` is called; resolves with what the tool then says. */
async function asking(options: BrowserContextOptions = {}) {
  const troupe = createTroupe({
    settings: { mcpServers: { db: { command: process.execPath, args: [everything, 'stdio'] } } },
    inspect: true,
    onQuestion: () => undefined,
  });
  onTestFinished(() => troupe.stop());
  await troupe.waitFor('db', 'ready', { timeoutMs: 60_000 });
  const identity = {
    pid: process.pid,
    version: '0.0.0',
    projectRoot: '/project',
    stateFolder: '/state',
    config: [],
    allow: null,
  };
  const handle = controlHandler(troupe, identity, { onQuestion: () => undefined });
  const inspected: Inspected = {
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
  const { page } = await show(browser, inspected, '', options);
  const ask = (tool = 'trigger-elicitation-request', args = {}): Promise<string> => {
    const call = troupe.callServerTool('db', tool, args);
    const said = call.then(({ result: { content } }) =>
      content.map((block) => String(block['text'])).join('\n'),
    );
    // Rejects only if the test fails before the answer.
    said.catch(() => undefined);
    return said;
  };
  return { troupe, page, ask };
}

/** Keeps a picture where the environment asks for one. */
async function keep(page: Page, name: string): Promise<void> {
  const folder = process.env['TROUPE_SHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, `${name}.png`) });
}

describe('a question of a server', () => {
  it('is announced in the header and answered in a form, without a mouse', async () => {
    const { page, ask } = await asking();
    expect(await page.locator('[data-questions]').count()).toBe(0);
    const said = ask();
    await page.getByRole('button', { name: '1 question' }).waitFor();
    await keep(page, 'question-badge');
    await page.keyboard.press('q');
    const form = page.locator('[data-question]');
    await form.getByText('trigger-elicitation-request').waitFor();
    expect(await form.locator('.time-left').textContent()).toMatch(/^[12] min \d\d s left$/u);
    expect(await page.getByLabel('Integer', { exact: true }).inputValue()).toBe('42');
    await page.getByLabel('Integer', { exact: true }).press('Enter');
    await form.getByText('is required').waitFor();
    await keep(page, 'question-form');
    await page.keyboard.type('Ada');
    await page.getByLabel('Integer', { exact: true }).fill('500');
    await page.keyboard.press('Enter');
    await form.getByText('must be at most 100').waitFor();
    // The first field that is wrong has the focus.
    await page.keyboard.press('Control+A');
    await page.keyboard.type('7');
    await page.getByRole('checkbox', { name: 'Drums' }).check();
    await page.keyboard.press('Enter');
    const text = await said;
    expect(text).toContain('- Name: Ada');
    expect(text).toContain('- Favorite Integer: 7');
    expect(text).toContain('"Drums"');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.locator('[data-questions]').waitFor({ state: 'detached' });
  });

  it('can be declined or cancelled on a phone', async () => {
    const { page, ask } = await asking(phone);
    const first = ask();
    await page.getByRole('button', { name: '1 question' }).tap();
    await page.locator('[data-question]').waitFor();
    const width = await page.evaluate(
      '[document.documentElement.scrollWidth, document.querySelector(".dialog-content").scrollWidth]',
    );
    expect(Math.max(...(width as number[]))).toBeLessThanOrEqual(390);
    await keep(page, 'question-phone');
    await page.locator('[data-answer=decline]').tap();
    expect(await first).toContain('declined');
    const second = ask();
    await page.getByRole('button', { name: '1 question' }).tap();
    await page.locator('[data-answer=cancel]').tap();
    expect(await second).toContain('cancelled');
  });

  it('shows its address, which is opened only by the user', async () => {
    const { page, ask } = await asking({ colorScheme: 'dark' });
    const said = ask('trigger-url-elicitation', { url: 'https://example.com/x?a=1' });
    await page.getByRole('button', { name: '1 question' }).click();
    const link = page.getByRole('link', { name: 'https://example.com/x?a=1' });
    expect(await link.getAttribute('rel')).toContain('noopener');
    await keep(page, 'question-link');
    await page.getByRole('button', { name: 'Done there, continue' }).click();
    expect(await said).toContain('accept');
  });

  it('is offered under the call that was made on the page', async () => {
    const { page } = await asking();
    await page.evaluate(`location.hash = '#/fleet?server=db'`);
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.locator('[data-tool=trigger-elicitation-request]').click();
    await page.getByRole('button', { name: 'Call' }).click();
    await page.getByRole('button', { name: 'Answer it' }).click();
    await page.locator('[data-answer=decline]').click();
    await page.locator('[data-outcome=ok]').waitFor();
    expect(await page.locator('.answer-text').first().textContent()).toContain('declined');
  });

  it('disappears when it is answered elsewhere, and cannot be answered in the past', async () => {
    const { troupe, page, ask } = await asking();
    const said = ask();
    const badge = page.getByRole('button', { name: '1 question' });
    await badge.waitFor();
    await page.evaluate(`location.hash = '#/fleet?at=${troupe.inspection.first + 1}'`);
    await badge.waitFor({ state: 'detached' });
    await page.keyboard.press('l');
    await badge.click();
    troupe.answer(troupe.questions()[0]?.id ?? '', { action: 'decline' });
    await page.getByText('No open questions').waitFor();
    expect(await said).toContain('declined');
    await badge.waitFor({ state: 'detached' });
  });
});
