/** The example host as users run it: as a process, with real servers. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../cli/run-cli.ts';
import { compiledProgram } from '../support/compiled-program.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const example = path.join(repository, 'examples/host/host.ts');
const fixture = path.join(repository, 'test/fixtures/stdio-server.mjs');

// Starting several servers takes seconds on a busy machine.
const limitMs = 60_000;

const program = compiledProgram('examples/host/host.ts');

/** A dialogue with the host. `hears` waits for text after the last text it found. */
function talkIn(folder: string) {
  const child = spawn(process.execPath, [...program.words, folder], { cwd: repository });
  onTestFinished(() => void child.kill('SIGKILL'));
  let unheard = '';
  let errors = '';
  let look = (): void => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    unheard += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([exitCode]) => ({ exitCode, errors }));
  return {
    ended,
    close: () => void child.stdin.end(),
    type: (line: string) => void child.stdin.write(`${line}\n`),
    hears: (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        look = () => {
          const start = unheard.indexOf(text);
          if (start === -1) return;
          look = () => {};
          unheard = unheard.slice(start + text.length);
          resolve();
        };
        look();
        void ended.then(() => reject(new Error(`Ended without "${text}": ${unheard}${errors}`)));
      }),
  };
}

function folderWith(servers: Readonly<Record<string, object>>): string {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, '.mcp.json'), JSON.stringify({ mcpServers: servers }));
  return folder;
}

const server = { command: process.execPath, args: [fixture] };

describe('the example host', { timeout: limitMs }, () => {
  it('has at most 80 lines', () => {
    expect(readFileSync(example, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  });

  it("asks before it runs a folder's server and calls its tool after approval", async () => {
    const { type, hears, ended } = talkIn(folderWith({ gated: server }));
    await hears('May gated run? yes or no');
    type('call mcp__gated__echo');
    await hears('PENDING_APPROVAL (not_executed)');
    type('yes');
    await hears('[gated] ready');
    await hears('[tools] of gated changed');
    type('tools');
    await hears('mcp__gated__echo (live)');
    type('call mcp__gated__echo {"word":"hello"}');
    await hears('{"word":"hello"}');
    type('quit');
    expect(await ended).toEqual({ exitCode: 0, errors: '' });
  });

  it("does not run a folder's rejected server", async () => {
    const { type, hears, ended } = talkIn(folderWith({ gated: server }));
    await hears('May gated run? yes or no');
    type('no');
    await hears('[gated] blocked rejected');
    type('call mcp__gated__echo');
    await hears('REJECTED (not_executed)');
    type('quit');
    expect(await ended).toEqual({ exitCode: 0, errors: '' });
  });

  it("applies its own settings and shows each server's status", async () => {
    const { type, hears, ended } = talkIn(temporaryFolder());
    await hears('tools · call');
    type(`add one ${server.command} ${fixture}`);
    await hears('[one] ready');
    type(`add two ${server.command} ${fixture} exit-1`);
    await hears('[two] backingOff retrying');
    type('call mcp__one__echo {"still":"there"}');
    await hears('{"still":"there"}');
    type('remove one');
    await hears('[tools] of one changed');
    type('call mcp__one__echo');
    await hears('SERVER_REMOVED (not_executed)');
    type('call mcp__two__echo {broken');
    await hears('SyntaxError (not sent)');
    type('quit');
    expect(await ended).toEqual({ exitCode: 0, errors: '' });
  });

  it('exits when its input ends', async () => {
    const talk = talkIn(folderWith({ gated: server }));
    await talk.hears('tools · call');
    talk.close();
    expect(await talk.ended).toEqual({ exitCode: 0, errors: '' });
  });
});
