/** The page over records that a test wrote: each state lit, nothing of strangers taken for markup. */

import { readFile } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { MachineKey } from '../../src/domain/host/inspection.ts';
import type { ChartFacts } from '../../visualizations/page/model/chart-facts.ts';
import { statusOf } from '../visualizations/samples.ts';
import { show, startBrowser } from './page-harness.ts';
import { ScriptedSource } from './scripted-source.ts';

const facts = JSON.parse(
  await readFile(new URL('../../dist/inspector/charts/charts.json', import.meta.url), 'utf8'),
) as ChartFacts;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** The pictures of a chart, each with the leaves it shows. */
function picturesOf(machine: MachineKey) {
  const { pictures, states } = facts.machines[machine] ?? { pictures: [], states: {} };
  const paths = Object.keys(states).filter((path) => path !== machine);
  const leaves = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
  return pictures.map(({ title, of }) => ({
    title,
    shown: leaves.filter((leaf) => of === machine || leaf.startsWith(`${of}.`)),
    isOnly: pictures.length === 1,
  }));
}

const litNow = `[...document.querySelectorAll('.chart-stage .lit')].map((state) => state.dataset.state).join()`;

describe('a chart on the page', () => {
  it.each([
    'server',
    'session',
    'refresh',
    'troupe',
    'slots',
    'authorization',
  ] satisfies MachineKey[])('highlights each possible state and no other: %s', async (machine) => {
    const source = new ScriptedSource();
    source.push({ kind: 'actor', actor: 'x:0', id: 'troupe', machine: 'troupe' });
    const actor = machine === 'troupe' ? 'x:0' : 'x:1';
    if (actor !== 'x:0') source.push({ kind: 'actor', actor, id: 'db.0', parent: 'x:0', machine });
    const inspected = { source, mode: 'live', title: 'x' } as const;
    const { page } = await show(browser, inspected, `#/chart?actor=${actor}`);
    await page.getByRole('button', { name: 'Details' }).click();
    for (const { title, shown, isOnly } of picturesOf(machine)) {
      if (!isOnly) await page.getByRole('tab', { name: new RegExp(`^${title}`, 'u') }).click();
      for (const leaf of shown) {
        source.push({ kind: 'state', actor, life: 'active', leaves: [leaf] });
        const state = page.locator(`.chart-stage [data-state="${leaf}"].lit`);
        await state.waitFor({ state: 'attached' });
        expect(await page.evaluate(litNow)).toBe(leaf);
      }
    }
  });
});

describe('a picture with foldable parts', () => {
  // What moves smoothly is nowhere in particular meanwhile.
  const screen = { viewport: { width: 1_440, height: 900 }, reducedMotion: 'reduce' } as const;
  const [picture] = facts.machines['server']?.pictures ?? [];
  const [part = { path: '', name: '' }] = picture?.parts ?? [];
  const inside = Object.keys(facts.machines['server']?.states ?? {}).find((path) =>
    path.startsWith(`${part.path}.`),
  );
  const final = 'connection.retired';

  /** The server's first picture, in which nothing but one leaf is active. */
  async function showServer(leaf: string) {
    const source = new ScriptedSource();
    source.push({ kind: 'actor', actor: 'x:0', id: 'troupe', machine: 'troupe' });
    source.push({ kind: 'actor', actor: 'x:1', id: 'db.0', parent: 'x:0', machine: 'server' });
    const enter = (state: string): void =>
      source.push({ kind: 'state', actor: 'x:1', life: 'active', leaves: [state] });
    enter(leaf);
    const { page } = await show(
      browser,
      { source, mode: 'live', title: 'x' },
      '#/chart?actor=x:1',
      screen,
    );
    await page.locator('.chart-stage svg').waitFor();
    return { page, enter };
  }

  it("initially folds its parts and fits the page's width at full size", async () => {
    const { page } = await showServer(final);
    expect(await page.locator('.chart-stage .folded').count()).toBeGreaterThan(0);
    expect(await page.locator('.zoom-scale').textContent()).toBe('100 %');
    const stage = await page.locator('#chart-stage').boundingBox();
    const paper = await page.locator('.chart-stage .paper').boundingBox();
    if (stage === null || paper === null) throw new Error('nothing is drawn');
    expect(paper.x).toBeGreaterThanOrEqual(stage.x);
    expect(paper.x + paper.width).toBeLessThanOrEqual(stage.x + stage.width);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1_440);
    await page.locator(`[data-state="${final}"].lit`).waitFor({ state: 'visible' });
  });

  it('unfolds and folds a part with a click or a key', async () => {
    const { page } = await showServer(final);
    const folded = page.locator(`.folded[data-state="${part.path}"]`);
    const shown = page.locator(`[data-state="${inside}"]`);
    await folded.focus();
    await page.keyboard.press('Enter');
    await shown.waitFor({ state: 'attached' });
    // The focus is on the button that folds it again.
    const button = page.locator(`[data-fold="${part.path}"]`);
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    await page.keyboard.press('Enter');
    await folded.waitFor({ state: 'attached' });
    await shown.waitFor({ state: 'detached' });
    await page.locator(`[data-fold="${part.path}"]`).click();
    await shown.waitFor({ state: 'attached' });
  });

  it('keeps a part unfolded, with its active state visible, while one of its states is active', async () => {
    const { page, enter } = await showServer(final);
    await page.getByRole('button', { name: 'Details' }).click();
    enter(inside ?? '');
    const lit = page.locator(`[data-state="${inside}"].lit`);
    await lit.waitFor({ state: 'visible' });
    expect(await page.locator(`[data-fold="${part.path}"]`).count()).toBe(0);
    // The picture moves to the state once it is drawn; a resize of the stage may end the animation.
    // Not waitForFunction, whose second look is an eval, which the page's policy forbids.
    await page.evaluate(`new Promise((resolve) => {
      const look = () => {
        const stage = document.querySelector('#chart-stage').getBoundingClientRect();
        const box = document.querySelector('[data-state="${inside}"].lit').getBoundingClientRect();
        if (box.top >= stage.top && box.bottom <= stage.bottom) resolve();
        else requestAnimationFrame(look);
      };
      look();
    })`);
    enter(final);
    await page.locator(`.folded[data-state="${part.path}"]`).waitFor({ state: 'attached' });
  });
});

const bad = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

describe('untrusted text', () => {
  it('never becomes markup, wherever it is shown', async () => {
    const source = new ScriptedSource();
    const name = `${bad}\u202e`;
    source.push({ kind: 'actor', actor: 'x:0', id: 'troupe', machine: 'troupe' });
    source.push({
      kind: 'actor',
      actor: 'x:1',
      id: bad,
      parent: 'x:0',
      machine: 'server',
      server: name,
    });
    source.push({ kind: 'event', to: 'x:1', type: bad, facts: { text: bad } });
    const lastError = {
      code: 'CRASHED',
      kind: 'crashed',
      message: bad,
      stderrTail: [bad],
    } as const;
    source.push({ kind: 'status', status: statusOf(name, { lastError, action: bad }) });
    const answers: Readonly<Record<string, unknown>> = {
      tools: {
        tools: [
          {
            name: bad,
            server: name,
            tool: bad,
            description: bad,
            catalog: 'live',
            inputSchema: { properties: { [bad]: { enum: [bad], description: bad } } },
          },
        ],
      },
      call: {
        result: {
          content: [
            { type: 'text', text: bad },
            { type: 'image', mimeType: 'image/svg+xml', data: bad },
          ],
          structuredContent: { bad },
        },
        meta: { server: name, tool: bad, attempts: 1, durationMs: 1 },
      },
      logs: {
        server: name,
        lines: [{ number: 1, at: source.startedAt, session: 1, stream: 'stderr', line: bad }],
      },
    };
    const { page } = await show(
      browser,
      {
        source,
        mode: 'live',
        title: bad,
        acts: () => [{ act: 'server.stop', accepted: false, reason: bad }],
        command: (command) =>
          command in answers ? Promise.resolve(answers[command]) : Promise.reject(new Error(bad)),
      },
      `#/fleet?server=${encodeURIComponent(name)}`,
    );
    const isClean = async (): Promise<void> => {
      expect(
        await page.evaluate(
          `document.querySelectorAll('img[src="x"], body script:not([src])').length`,
        ),
      ).toBe(0);
    };
    await page.locator('.stderr').waitFor();
    const shownName = await page.locator('.tile-name').textContent();
    expect(shownName).toContain('<img src=x');
    expect(await page.locator('.panel h2').textContent()).toBe(String.raw`${bad}\u{202e}`);
    expect(await page.locator('.failure-message').textContent()).toBe(bad);
    expect(await page.locator('.stderr').textContent()).toBe(`${bad}\n`);
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.locator('.tool summary').first().click();
    await page.getByRole('button', { name: 'Call' }).click();
    await page.locator('.answer-text').waitFor();
    expect(await page.locator('.answer-text').textContent()).toBe(bad);
    await isClean();
    await page.getByRole('tab', { name: 'Log' }).click();
    await page.locator('.log-text').waitFor();
    await page.getByRole('button', { name: 'Sequence' }).click();
    await page.locator('.sequence-row').first().waitFor();
    await isClean();
    await page.getByRole('button', { name: 'Chart' }).click();
    await page.locator('.chart-stage svg').waitFor();
    await isClean();
  });

  it("could not run even as markup, because the page's policy forbids it", async () => {
    const source = new ScriptedSource();
    const { page, complaints } = await show(browser, { source, mode: 'live', title: 'x' });
    await page.getByText('No servers').waitFor();
    const forbidden = `new Promise((resolve) => {
      document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective), { once: true });
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
    })`;
    expect(await page.evaluate(forbidden)).toBe('script-src-elem');
    expect(await page.evaluate('window.ran')).toBeUndefined();
    // What every other test would fail with.
    expect(complaints).toHaveLength(1);
    (complaints as string[]).length = 0;
  });
});

describe('a journal on the page', () => {
  it('opens at the first failure, with the server that failed', async () => {
    const source = new ScriptedSource();
    for (const state of ['connecting', 'failed', 'stopped'] as const) {
      source.push({ kind: 'status', status: statusOf('web', { state: 'ready' }) });
      source.push({ kind: 'status', status: statusOf('db', { state }) });
    }
    const { page } = await show(browser, { source, mode: 'replay', title: 'x.ndjson' });
    await page.locator('[data-tile=db][data-state-of=failed]').waitFor();
    expect(await page.locator('.panel h2').textContent()).toBe('db');
    expect(await page.locator('.time-where').textContent()).toContain('4 / 6');
  });

  it('shows every moment and accepts no commands', async () => {
    const source = new ScriptedSource();
    source.push({ kind: 'status', status: statusOf('db', { state: 'connecting' }) });
    source.push({ kind: 'status', status: statusOf('db', { state: 'failed' }) });
    const { page } = await show(
      browser,
      { source, mode: 'replay', title: 'x.ndjson' },
      '#/fleet?server=db',
    );
    await page.getByText('This is a recorded journal').waitFor();
    await page.getByText('A recorded journal allows no actions.').waitFor();
    expect(await page.getByRole('button', { name: 'Reload' }).isDisabled()).toBe(true);
    const tile = page.locator('[data-tile=db]');
    await page.locator('[data-state-of=failed]').waitFor();
    await page.keyboard.press('[');
    await page.locator('[data-state-of=connecting]').waitFor();
    await page.getByRole('slider').press('ArrowRight');
    await page.locator('[data-state-of=failed]').waitFor();
    expect(await tile.textContent()).toContain('failed');
  });
});
