/** Another user of the same machine cannot approve, call or configure anything. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createPlace, type Place } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';

const program = compiledCli();
const nobodyId = '65534';
const isPossible = process.platform === 'linux' && process.getuid?.() === 0;
const whyNot = 'only root on Linux may become another user';

/** Runs a program as an unprivileged user, from stdin because that user may not read this folder. */
async function asNobody(source: string, ...words: readonly string[]): Promise<unknown> {
  const become = [`--reuid=${nobodyId}`, `--regid=${nobodyId}`, '--clear-groups'];
  const run = [process.execPath, '--input-type=module', '-', ...words];
  const child = spawn('setpriv', [...become, ...run], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(source);
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  await once(child, 'close');
  return JSON.parse(said);
}

// Lists the files in a folder that the user can read or write, and the sockets it can use.
const rummage = `
  import { accessSync, constants, lstatSync, readdirSync } from 'node:fs';
  import { connect } from 'node:net';
  const got = [];
  const may = (file, mode) => { try { accessSync(file, mode); return true; } catch { return false; } };
  const walk = async (file) => {
    let found;
    try { found = lstatSync(file); } catch { return; }
    if (found.isDirectory()) {
      if (may(file, constants.W_OK)) got.push('writes ' + file);
      let names = [];
      try { names = readdirSync(file); } catch {}
      for (const name of names) await walk(file + '/' + name);
    } else if (found.isSocket()) {
      await new Promise((resolve) => {
        const socket = connect(file, () => { got.push('talks to ' + file); socket.destroy(); resolve(); });
        socket.once('error', resolve);
      });
    } else {
      if (may(file, constants.R_OK)) got.push('reads ' + file);
      if (may(file, constants.W_OK)) got.push('writes ' + file);
    }
  };
  // Also by name: a folder that cannot be listed may still allow access to a known name.
  for (const file of process.argv.slice(2)) await walk(file);
  console.log(JSON.stringify(got));
`;

// Lists the requests over loopback that were not rejected.
const knock = `
  const got = [];
  for (const request of JSON.parse(process.argv[2])) {
    const { url, ...init } = request;
    const { status } = await fetch(url, init);
    if (status !== 401 && status !== 403) got.push([url, init.method ?? 'GET', status]);
  }
  console.log(JSON.stringify(got));
`;

// Reads all processes' arguments and environments, and keeps text that may be a token.
const spy = `
  import { readdirSync, readFileSync } from 'node:fs';
  const words = new Set();
  for (const pid of readdirSync('/proc').filter((name) => /^\\d+$/.test(name))) {
    for (const file of ['cmdline', 'environ']) {
      try {
        const text = readFileSync('/proc/' + pid + '/' + file, 'latin1');
        for (const [, word] of text.matchAll(/token=([\\w-]{20,})/g)) words.add(word);
      } catch {}
    }
  }
  console.log(JSON.stringify([...words]));
`;

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name);
    return statSync(file).isDirectory() ? [file, ...filesBelow(file)] : [file];
  });
}

/** A running troupe with a server that needs approval, in a folder that every user may enter. */
async function startUp(): Promise<{ place: Place; url: string }> {
  const place = createPlace(program);
  chmodSync(place.folder, 0o755);
  place.writeProject({ pending: place.server() });
  const up = place.start('up');
  await up.printed(/servers: /u);
  const { stdout } = await place.run('inspect');
  return { place, url: stdout.trim() };
}

describe('another user on this machine', () => {
  it('cannot read or write the state or use the socket', async ({ skip }) => {
    skip(!isPossible, whyNot);
    const { place } = await startUp();
    // There are a decision and a token to find.
    const approved = await place.run('approve', 'pending', '--yes');
    expect(approved).toMatchObject({ exitCode: 0 });
    await startServe(place);
    const state = path.join(place.folder, 'state');
    const known = filesBelow(state);
    const names = known.map((file) => path.basename(file)).join(' ');
    for (const part of ['approvals', 'gateway-token', '.sock', 'processes-'])
      expect(names).toContain(part);
    expect(await asNobody(rummage, state, ...known)).toEqual([]);
  });

  it('cannot call, approve or read the inspector over the ports', async ({ skip }) => {
    skip(!isPossible, whyNot);
    const { place, url } = await startUp();
    const gateway = await startServe(place);
    const { origin } = new URL(url);
    const json = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const grant = {
      command: 'send',
      args: { event: { type: 'approval.grant', server: 'pending' } },
    };
    const requests = [
      { url: gateway, method: 'POST', headers: json, body: JSON.stringify(call) },
      { url: gateway },
      ...['/api/picture', '/api/session', '/api/records?from=1', '/api/journal'].map((target) => ({
        url: origin + target,
      })),
      {
        url: `${origin}/api/command`,
        method: 'POST',
        headers: { ...json, origin },
        body: JSON.stringify(grant),
      },
    ];
    expect(await asNobody(knock, JSON.stringify(requests))).toEqual([]);
  });

  it('sees no token in the process table while a browser opens', async ({ skip }) => {
    skip(!isPossible, whyNot);
    const { place } = await startUp();
    const opened = path.join(place.folder, 'opened');
    const browsers = path.join(place.folder, 'bin');
    mkdirSync(browsers);
    // Keeps running with its arguments, as a browser does.
    const script = `#!/bin/sh\necho "$$" > "${opened}.draft"\nmv "${opened}.draft" "${opened}"\nsleep 30\n`;
    writeFileSync(path.join(browsers, 'xdg-open'), script, { mode: 0o755 });
    const { PATH } = process.env;
    process.env['PATH'] = `${browsers}:${PATH}`;
    onTestFinished(() => {
      process.env['PATH'] = PATH;
      const pid = Number(readFileSync(opened, 'utf8'));
      process.kill(pid, 'SIGKILL');
    });
    const { exitCode } = await place.run('inspect', '--open');
    expect(exitCode).toBe(0);
    // oxlint-disable-next-line vitest/no-restricted-vi-methods
    await vi.waitFor(() => readFileSync(opened), { timeout: 10_000, interval: 10 });
    expect(await asNobody(spy)).toEqual([]);
  });
});

/** Starts a gateway over HTTP and returns its address. */
async function startServe(place: Place): Promise<string> {
  const run = place.start('serve', '--http', '0', '--json');
  const [document] = await run.printed(/\{[^}]*\}/u);
  return (JSON.parse(document ?? '') as { readonly url: string }).url;
}
