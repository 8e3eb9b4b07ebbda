import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const script = new URL('../../.ci/run', import.meta.url);
// The script gets two seconds, and each part after them one more.
const timeout = 120_000;

describe.skipIf(process.platform !== 'linux')('.ci/run', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-test-'));
    await mkdir(join(folder, '.ci'));
    await mkdir(join(folder, 'bin'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Runs the script with this body of `npm`, limited to so many seconds in total. */
  async function runWith(npm: string, seconds: number) {
    const whole = await readFile(script, 'utf8');
    const shortened = whole.replace(
      /^whole_limit_seconds=\d+$/mu,
      `whole_limit_seconds=${seconds}`,
    );
    expect(shortened).toContain(`whole_limit_seconds=${seconds}\n`);
    await writeFile(join(folder, '.ci/run'), shortened);
    await writeFile(join(folder, 'bin/npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
    // A test installs nothing.
    await writeFile(join(folder, 'bin/chromium'), '', { mode: 0o755 });
    const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`;
    return new Promise<{ code: unknown; lines: readonly string[] }>((resolve) => {
      const options = { env: { ...process.env, PATH } };
      execFile('bash', [join(folder, '.ci/run')], options, (error, stdout) => {
        resolve({ code: error === null ? 0 : error.code, lines: stdout.trimEnd().split('\n') });
      });
    });
  }

  it('adds up the test counts of all runs', { timeout }, async () => {
    const { code, lines } = await runWith('echo "5 passed, 0 failed, 1 skipped"', 600);
    expect({ code, last: lines.at(-1) }).toEqual({ code: 0, last: '20 passed, 0 failed' });
    expect(lines).not.toContain('Failed:');
  });

  it('reports a failed part and runs the rest', { timeout }, async () => {
    const npm = '[ "$2" != check:lint ] || exit 3\necho "5 passed, 0 failed"';
    const { code, lines } = await runWith(npm, 600);
    expect({ code, last: lines.at(-1) }).toEqual({ code: 1, last: '20 passed, 0 failed' });
    expect(lines[lines.indexOf('Failed:') + 1]).toBe('  npm run check:lint');
    expect(lines).toContain('== tests npm run test:node24');
  });

  it('kills a hanging part, reports it and runs the rest', { timeout }, async () => {
    const npm = '[ "$2" != check:lint ] || exec sleep 1000\necho "5 passed, 0 failed"';
    const { code, lines } = await runWith(npm, 2);
    expect(code).toBe(1);
    expect(lines.slice(lines.indexOf('Failed:'))).toContain('  npm run check:lint');
    expect(lines).toContain('== tests npm run test:xstate-production');
    expect(lines.at(-1)).toMatch(/^\d+ passed, \d+ failed$/u);
  });
});
