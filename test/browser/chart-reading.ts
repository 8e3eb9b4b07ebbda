/** Whether the charts of a page can be read: at full size, inside their boxes and the window. */

import type { Page } from 'playwright-core';
import { expect } from 'vitest';

interface Drawn {
  readonly overflowing: readonly string[];
  readonly smallest: number;
  readonly scrollsSideways: boolean;
}

/** What of the drawn chart leaves its box or the frame, and the height of its smallest text. */
const drawn = `(() => {
  const stage = document.querySelector('#chart-stage').getBoundingClientRect();
  const overflowing = [];
  let smallest = Infinity;
  for (const state of document.querySelectorAll('#chart-stage .state')) {
    const box = state.querySelector('.box').getBoundingClientRect();
    const isIn = box.left >= stage.left && box.right <= stage.right;
    if (!isIn) overflowing.push(state.dataset.state + ' leaves the frame');
    for (const text of state.querySelectorAll(':scope > text')) {
      const line = text.getBoundingClientRect();
      if (line.right > box.right + 1 || line.bottom > box.bottom + 1)
        overflowing.push(text.textContent + ' leaves ' + state.dataset.state);
    }
  }
  for (const text of document.querySelectorAll('#chart-stage text')) {
    const scale = text.getScreenCTM().a;
    smallest = Math.min(smallest, parseFloat(getComputedStyle(text).fontSize) * scale);
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  return { overflowing, smallest, scrollsSideways: scrollWidth > clientWidth };
})()`;

/** Folds each chart of the shown actor and looks at it; returns the number of charts. */
export async function expectReadableCharts(page: Page): Promise<number> {
  const charts = page.locator('.chart-bar [role=tab]');
  const count = await charts.count();
  for (let place = 0; place < count; place += 1) {
    await charts.nth(place).click();
    await page.locator('#chart-stage svg').waitFor();
    // What the page unfolded by itself fits as well, but may be a little smaller.
    for (;;) {
      const unfolded = page.locator('#chart-stage [data-fold][aria-expanded=true]');
      if ((await unfolded.count()) === 0) break;
      await unfolded.first().click();
    }
    await page.getByRole('button', { name: 'The whole chart' }).click();
    expect(await page.locator('.zoom-scale').textContent()).toBe('100 %');
    const { overflowing, smallest, scrollsSideways } = await page.evaluate<Drawn>(drawn);
    expect(overflowing).toEqual([]);
    expect(smallest).toBeGreaterThanOrEqual(11.5);
    expect(scrollsSideways).toBe(false);
  }
  return count;
}
