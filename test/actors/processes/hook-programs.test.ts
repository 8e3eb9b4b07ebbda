import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createHookPrograms } from '../../../actors/processes/hook-programs.ts';
import { isAlive, startOf } from '../../../actors/processes/process-table.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';

const folder = realpathSync(tmpdir());

function programs() {
  const env = { PATH: process.env['PATH'], HOOK_TEST: 'yes' };
  const made = createHookPrograms({ clock: realClock, env, processes: undefined });
  const run = (
    script: string,
    { document = {}, limitMs = 20_000, signal = new AbortController().signal } = {},
  ) => made.run({ command: [process.execPath, '-e', script], folder, limitMs, signal }, document);
  return { made, runScript: run };
}

const reading = 'JSON.parse(require("node:fs").readFileSync(0, "utf8"))';

describe('the program of a hook', () => {
  it('gets one JSON document and answers with another one', async () => {
    const { runScript } = programs();
    const script = `const { id } = ${reading}; console.log(JSON.stringify({ id, cwd: process.cwd(), env: process.env.HOOK_TEST }))`;
    expect(await runScript(script, { document: { id: 7 } })).toEqual({
      id: 7,
      cwd: folder,
      env: 'yes',
    });
  });

  it('may answer nothing, and need not read', async () => {
    const { runScript } = programs();
    expect(await runScript('')).toBeUndefined();
    const large = { text: 'x'.repeat(1_000_000) };
    expect(await runScript('process.stdin.destroy()', { document: large })).toBeUndefined();
  });

  it('may answer as much as a server', async () => {
    const { runScript } = programs();
    const script = `console.log(JSON.stringify({ text: ${reading}.text }))`;
    const document = { text: 'é'.repeat(500_000) };
    expect(await runScript(script, { document })).toEqual(document);
    const more = 'process.stdout.write("x".repeat(17 * 1024 * 1024))';
    await expect(runScript(more)).rejects.toThrow('printed more than 16777216 characters');
  });

  it.each([
    [
      'ends with another exit code',
      'console.error("no drops"); process.exit(3)',
      'the program ended with exit code 3: no drops',
    ],
    ['ends so and says nothing', 'process.exit(1)', 'the program ended with exit code 1'],
    ['is killed', 'process.kill(process.pid, "SIGKILL")', 'the program was killed'],
    ['prints no JSON', 'console.log("ok")', 'something other than one JSON document'],
    ['prints two documents', 'console.log("{}\\n{}")', 'something other than one JSON document'],
  ])('has failed if it %s', async (_words, script, message) => {
    await expect(programs().runScript(script)).rejects.toThrow(message);
  });

  it('has failed if it does not exist', async () => {
    const { made } = programs();
    const { signal } = new AbortController();
    const command = ['no-such-program-anywhere'];
    await expect(made.run({ command, folder, limitMs: 5_000, signal }, {})).rejects.toThrow(
      'the program was not found on PATH',
    );
  });

  it('has ended with everything that it started at its limit, and when it is aborted', async () => {
    const { runScript, made } = programs();
    // The child keeps the pipe open, so that only its end ends the reading.
    const waits =
      'require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" }); setInterval(() => {}, 1000)';
    await expect(runScript(waits, { limitMs: 300 })).rejects.toThrow('did not answer in time');
    const abort = new AbortController();
    const running = runScript(waits, { signal: abort.signal });
    abort.abort();
    await expect(running).rejects.toThrow('did not answer in time');
    await made.close();
  });

  it('leaves no process behind', async () => {
    const { runScript } = programs();
    const script =
      'const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }); child.unref(); console.log(JSON.stringify({ pids: [process.pid, child.pid] }))';
    const { pids } = (await runScript(script)) as { readonly pids: readonly number[] };
    for (const pid of pids) {
      const start = startOf(pid);
      expect(start === undefined || !isAlive({ pid, start })).toBe(true);
    }
  });
});
