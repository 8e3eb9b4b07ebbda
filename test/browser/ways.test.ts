/** The way to a state, two journals compared, and the lanes of a wide sequence, in a real browser. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { journalOf } from '../../src/recorder/journal.ts';
import { createScriptedTroupe } from '../../src/testing/index.ts';
import { compareJournals } from '../../visualizations/server/compare.ts';
import { openJournal } from '../../visualizations/server/replay-source.ts';
import { temporaryFolder } from '../cli/run-cli.ts';
import { runExported } from '../visualizations/server/exported-test.ts';
import { show, startBrowser } from './page-harness.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

// Leaves few states to visit before the search tries commands.
const oneAttempt = { startup: { maxAttempts: 1 }, restart: { maxAttempts: 1 } };

const screen = { viewport: { width: 1_440, height: 900 }, reducedMotion: 'reduce' } as const;

/** A recorded troupe of ready servers. */
async function ready(names: readonly string[], policy: object = {}) {
  const mcpServers = Object.fromEntries(names.map((name) => [name, { command: name, policy }]));
  const script = createScriptedTroupe({ seed: 3, settings: { mcpServers } });
  const { troupe, sessions } = script;
  troupe.inspection.start();
  await script.settle();
  for (const name of names) {
    sessions.of(name).open({ era: 'modern' });
    await script.settle();
    sessions.of(name).list([]);
    await script.advance(400);
  }
  return { ...script, inspection: troupe.inspection };
}

function save(folder: string, name: string, { inspection }: Awaited<ReturnType<typeof ready>>) {
  const file = path.join(folder, name);
  writeFileSync(file, [...journalOf(inspection)].join(''));
  return file;
}

describe('the way to a state', () => {
  it('is drawn and listed, with a test that passes, even in a replay', async () => {
    const source = await openJournal(save(temporaryFolder(), 'a.ndjson', await ready(['db'])));
    const { page } = await show(
      browser,
      { source, mode: 'replay', title: 'a.ndjson' },
      `#/chart?server=db&at=${source.last}`,
      { ...screen, permissions: ['clipboard-read', 'clipboard-write'] },
    );
    await page.locator('.chart-stage svg.chart').waitFor();
    await page.keyboard.press('w');
    const choice = page.getByLabel('State', { exact: true });
    await choice.selectOption('connection.parked.failed.attemptsExhausted');
    await page.getByText('13 steps, drawn in the chart.').waitFor();
    const steps = page.locator('.way-steps li');
    expect(await steps.count()).toBe(13);
    expect(await steps.nth(0).textContent()).toContain('done sessioncrashed[isLost]');
    expect(await steps.nth(1).textContent()).toMatch(/^after reconnectBackoffafter \d+ ms/u);
    const marked = page.locator('.chart-stage .on-way');
    const all = await marked.count();
    expect(all).toBeGreaterThan(2);
    expect(await page.locator('.way-numbers text').first().textContent()).toMatch(/^\d+/u);
    await steps.nth(1).getByRole('button').hover();
    await page.locator('.way-steps [aria-pressed=true]').waitFor();
    expect(await marked.count()).toBeLessThan(all);
    await page.getByRole('button', { name: 'Copy the test' }).click();
    await page.getByText('Copied').waitFor();
    // Runs in the page; this project's types are those of Node.
    const test = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(await runExported(test)).toBe('leads db to failed (attemptsExhausted)');
    await choice.selectOption('connection.engaged.live.ready');
    await page.getByText('This state is active.').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.locator('.way-steps').waitFor({ state: 'detached' });
    await marked.first().waitFor({ state: 'detached' });
  });

  it('can be requested from a state in the chart', async () => {
    const { inspection } = await ready(['db'], oneAttempt);
    const { page } = await show(
      browser,
      { source: inspection, mode: 'live', title: 'x' },
      '#/chart?server=db',
      screen,
    );
    await page.locator('.chart-stage [data-state="connection.retired"]').click();
    await page.getByRole('button', { name: 'How do I get here?' }).click();
    await page.getByText('2 steps, drawn in the chart.').waitFor();
    expect(await page.locator('.on-way[data-state="connection.retired"]').count()).toBe(1);
    await page
      .getByLabel('State', { exact: true })
      .selectOption('connection.parked.blocked.rejected');
    await page.getByText('The test cannot repeat admission.withdrawn').waitFor();
  });
});

describe('two journals', () => {
  it('are both shown at their first difference', async () => {
    const folder = temporaryFolder();
    const a = save(folder, 'a.ndjson', await ready(['db', 'web']));
    const other = await ready(['db', 'web']);
    other.sessions.of('web').fail({ kind: 'crashed', message: 'It crashed.' });
    await other.settle();
    const b = save(folder, 'b.ndjson', other);
    const { difference } = await compareJournals(b, a);
    if (difference === undefined) throw new Error('both are equal');
    const source = await openJournal(b);
    const compared = { title: 'a.ndjson', source: await openJournal(a), difference };
    const inspected = { source, mode: 'replay', title: 'b.ndjson', compared } as const;
    const { page } = await show(browser, inspected, '', screen);
    const panel = page.getByRole('complementary', { name: 'Comparison' });
    await panel.getByText('web/session').first().waitFor();
    const differing = panel.locator('.compared-lines .differs');
    expect(await differing.first().textContent()).toContain('wire.');
    expect(await differing.last().textContent()).toContain('nothing');
    await panel.getByRole('button', { name: 'Next difference' }).click();
    await panel.locator('.differs[aria-current=true]').waitFor();
    await panel.locator('.compared-chart svg.chart').waitFor();
    expect(page.url()).toContain('server=web');
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Difference' }).click();
    await panel.waitFor();
  });
});

describe('a sequence that is wider than the screen', () => {
  it('leads to each lane by name, and hides record numbers at first', async () => {
    const names = Array.from({ length: 12 }, (_, place) => `srv${place}`);
    const { inspection } = await ready(names);
    const { page } = await show(
      browser,
      { source: inspection, mode: 'live', title: 'x' },
      '#/sequence',
      { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' },
    );
    // The first ones are above the edge: bringing one into view would replace the rows under the click.
    const beside = page.locator('.row-beside').last();
    await beside.waitFor();
    const name = (await beside.textContent())?.split(':')[0];
    await beside.click();
    const lanes = page.getByLabel('Go to a lane');
    expect(await lanes.locator('option').allTextContents()).toContainEqual(
      expect.stringContaining(name ?? 'srv'),
    );
    const offset = 'document.querySelector(".sequence-scroller").scrollLeft';
    expect(await page.evaluate(offset)).toBeGreaterThan(0);
    const first = await lanes.locator('option').nth(1).getAttribute('value');
    await lanes.selectOption(first ?? '');
    expect(await page.evaluate(offset)).toBe(0);
    await page.setViewportSize({ width: 1_280, height: 800 });
    expect(await page.locator('.row-n').first().isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Numbers' }).click();
    expect(await page.locator('.row-n').first().isVisible()).toBe(true);
  });
});
