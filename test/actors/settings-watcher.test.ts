/** Watching when the system has no watches left. The ordinary ways are in settings-files.test.ts. */

import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { watchSettingsFiles } from '../../actors/settings-watcher.ts';

const watchers: ExhaustedWatcher[] = [];

/** What chokidar gives when inotify is used up: an error, and never an event. */
class ExhaustedWatcher extends EventEmitter {
  isClosed = false;

  add(): void {
    const error = Object.assign(new Error('no space left on device, watch'), { code: 'ENOSPC' });
    process.nextTick(() => this.emit('error', error));
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

vi.mock('chokidar', () => ({
  watch: () => {
    const watcher = new ExhaustedWatcher();
    watchers.push(watcher);
    return watcher;
  },
}));

/** Starts watching and keeps count of what was said; `until` settles with the next change. */
function start() {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-watch-'));
  const file = path.join(folder, 'troupe.json');
  const messages: string[] = [];
  let said = (): void => {};
  const stop = watchSettingsFiles([file], {
    changed: () => said(),
    slowed: (message) => {
      messages.push(message);
      said();
    },
  });
  onTestFinished(() => {
    stop();
    rmSync(folder, { recursive: true });
  });
  const news = () =>
    new Promise<void>((resolve) => {
      said = resolve;
    });
  return { file, messages, news, stop };
}

describe('a settings watch without watches', () => {
  it('says so once, closes what is useless and still sees an edit', async () => {
    const { file, messages, news } = start();
    while (messages.length === 0) await news();
    expect(messages).toEqual([expect.stringContaining('ENOSPC')]);
    expect(watchers.at(-1)?.isClosed).toBe(true);

    // The first look finds no file, and tells that it has begun.
    await news();
    const edit = news();
    writeFileSync(file, '{}');
    await edit;
    expect(messages).toHaveLength(1);
  });

  it('says nothing when it was stopped before', async () => {
    const { messages, stop } = start();
    stop();
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages).toEqual([]);
  });
});
