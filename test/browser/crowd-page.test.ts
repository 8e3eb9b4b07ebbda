/** The page over 60 servers: how few clicks lead to the reason, and whether every chart can be read. */

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Troupe } from '../../src/runtime/troupe.ts';
import { possibleActs } from '../../visualizations/server/possible-acts.ts';
import { expectReadableCharts } from './chart-reading.ts';
import { failing, startCrowd } from './crowd.ts';
import { show, startBrowser } from './page-harness.ts';

let browser: Browser;
let troupe: Troupe;
let end: () => Promise<void>;

beforeAll(async () => {
  browser = await startBrowser();
  ({ troupe, end } = startCrowd());
  await Promise.all([
    ...['figma', 'postgres', 'stripe'].map((name) => troupe.waitFor(name, 'failed')),
    troupe.waitFor('sentry', 'backingOff'),
    troupe.waitFor('zendesk', 'blocked'),
    troupe.waitFor('github', 'ready'),
  ]);
});
afterAll(async () => {
  await browser.close();
  await end();
});

const sizes = {
  'a laptop': { width: 1_440, height: 900 },
  'a large screen': { width: 1_920, height: 1_080 },
  'a phone': { width: 390, height: 844 },
} as const;

async function open(size: keyof typeof sizes, hash = ''): Promise<Page> {
  const inspected = {
    source: troupe.inspection,
    mode: 'live',
    title: '/project',
    acts: (server: string) => possibleActs(troupe, server),
    command: (name: string) => Promise.reject(new Error(`no ${name} here`)),
  } as const;
  const options = { viewport: sizes[size], reducedMotion: 'reduce' } as const;
  const { page } = await show(browser, inspected, hash, options);
  return page;
}

/** The part of an element's text that can be seen: inside its box, its scrollers and the window. */
const visibleText = `(element) => {
  const frames = [];
  for (let at = element; at !== null; at = at.parentElement) {
    if (getComputedStyle(at).overflow !== 'visible' || at === document.documentElement)
      frames.push(at.getBoundingClientRect());
  }
  const isSeen = (box) => box.width > 0 && frames.every((frame) =>
    box.top >= frame.top - 1 && box.bottom <= Math.min(frame.bottom, innerHeight) + 1 &&
    box.left >= frame.left - 1 && box.right <= frame.right + 1);
  let seen = '';
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    for (const { 0: word, index } of text.data.matchAll(/\\S+\\s*/gu)) {
      const range = new Range();
      range.setStart(text, index);
      range.setEnd(text, index + word.trimEnd().length);
      if (isSeen(range.getBoundingClientRect())) seen += word;
    }
  }
  return seen;
}`;

async function seenIn(page: Page, selector: string): Promise<string> {
  await page.locator(selector).waitFor();
  return page.evaluate(`(${visibleText})(document.querySelector('${selector}'))`);
}

const mostClicks = 2;

describe('the page over 60 servers', () => {
  it.each(Object.keys(sizes) as (keyof typeof sizes)[])(
    'explains each of five failures within two clicks: %s',
    async (size) => {
      const page = await open(size);
      for (const [server, words] of Object.entries(failing)) {
        const tile = page.locator(`[data-tile=${server}]`);
        await tile.waitFor();
        const says = async (selector: string): Promise<boolean> =>
          (await seenIn(page, selector)).includes(words);
        let clicks = 0;
        const isOnCard = await says(`[data-tile=${server}]`);
        if (!isOnCard) {
          // Only what is on the screen can be clicked.
          expect(await seenIn(page, `[data-tile=${server}]`)).toContain(server);
          await tile.click();
          clicks += 1;
          expect(await says('.panel .failure-message'), `${server} in the panel`).toBe(true);
        }
        expect(clicks).toBeLessThanOrEqual(mostClicks);
        // As it was when the page was loaded.
        await page.keyboard.press('Escape');
        await page.locator('.panel').waitFor({ state: 'detached' });
      }
    },
  );

  it('shows all of them on one screen, the problems first', async () => {
    const page = await open('a laptop');
    const names = page.locator('[data-tile]');
    await names.nth(59).waitFor();
    const order = await names.evaluateAll((tiles) =>
      tiles.map((tile) => tile.getAttribute('data-tile')),
    );
    expect(new Set(order.slice(0, 5))).toEqual(new Set(Object.keys(failing)));
    const last = await names.nth(59).boundingBox();
    const bar = await page.locator('.time-bar').boundingBox();
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  });

  it('steps from problem to problem through the recording', async () => {
    const page = await open('a laptop');
    // Until the older records are there.
    await page.locator('.activity .bar-bad').first().waitFor({ state: 'attached' });
    await page.keyboard.press('p');
    await page.locator('.panel h2').waitFor();
    const last = await page.locator('.panel h2').textContent();
    expect(Object.keys(failing)).toContain(last);
    await page.keyboard.press('p');
    await page.locator('.panel .failure-message, .panel .next-step').first().waitFor();
    await page.keyboard.press('l');
    await page.locator('.live-button[aria-pressed=true]').waitFor();
  });
});

describe("a server's charts", () => {
  it.each(['a laptop', 'a phone'] as const)(
    'can be read at full size while folded: %s',
    async (size) => {
      const page = await open(size, '#/chart?server=github');
      await page.locator('#chart-stage svg').waitFor();
      expect(await page.getByRole('tab').count()).toBeGreaterThanOrEqual(5);
      expect(await expectReadableCharts(page)).toBe(5);
    },
  );

  it('show the path to the active state, and name it in a folded one', async () => {
    const page = await open('a laptop', '#/chart?server=postgres');
    await page.locator('#chart-stage .lit').first().waitFor({ state: 'attached' });
    const paths = page.locator('#chart-stage .arrow.path');
    await paths.first().waitFor({ state: 'attached' });
    const parked = page.locator('[data-state="connection.parked"]');
    const button = page.locator('[data-fold="connection.parked"]');
    if ((await button.getAttribute('aria-expanded')) === 'true') await button.click();
    await page.locator('[data-state="connection.parked"].folded.lit').waitFor();
    expect(await parked.textContent()).toContain('sameFailure');
    await parked.click();
    await page.locator('[data-state="connection.parked.failed.sameFailure"].lit').waitFor();
    await page.getByRole('button', { name: 'Details' }).click();
    // The rows of the tables that decided are marked as well.
    await page.locator('#chart-stage text.path').first().waitFor({ state: 'attached' });
  });

  it('show which transitions were never taken', async () => {
    const page = await open('a laptop', '#/chart?server=github');
    await page.locator('.activity .bar-bad').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Coverage' }).click();
    const note = await page.locator('.coverage-note').textContent();
    const [, taken = 0, all = 0] = /^(\d+) of (\d+)/u.exec(note ?? '')?.map(Number) ?? [];
    expect(taken).toBeGreaterThan(5);
    expect(taken).toBeLessThan(all);
    // Every server that is ready was connected; none was retired.
    const never = page.locator('#chart-stage .arrow.never');
    const ids = await never.evaluateAll((arrows) =>
      arrows.map((arrow) => arrow.getAttribute('data-transitions') ?? ''),
    );
    expect(ids.some((id) => id.includes('settling.admitting#0'))).toBe(true);
    expect(ids.some((id) => id.includes('settling.wanting#1'))).toBe(false);
    await page.keyboard.press('c');
    await page.locator('.coverage-note').waitFor({ state: 'detached' });
    expect(await never.count()).toBe(0);
  });

  it('stay when the panel is hidden, resized and shown again', async () => {
    const page = await open('a laptop', '#/chart?server=github');
    const choice = page.locator('.actor-choice');
    const shown = await choice.inputValue();
    const before = await page.locator('#chart-stage').boundingBox();
    await page.getByRole('button', { name: 'Close (Esc)' }).click();
    await page.locator('.panel').waitFor({ state: 'detached' });
    expect(await choice.inputValue()).toBe(shown);
    const wide = await page.locator('#chart-stage').boundingBox();
    expect(wide?.width).toBeGreaterThan((before?.width ?? 0) + 300);
    await page.getByRole('button', { name: 'github' }).click();
    const edge = page.getByRole('separator');
    await edge.focus();
    await page.keyboard.press('ArrowLeft');
    await page.locator('.panel-edge[aria-valuenow="460"]').waitFor();
    expect((await page.locator('.panel').boundingBox())?.width).toBe(460);
    await edge.dblclick();
    await page.locator('.panel-edge[aria-valuenow="420"]').waitFor();
  });
});
