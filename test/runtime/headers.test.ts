/** Headers that change while a session is open, as a server sees them. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import {
  createTroupe,
  type HeadersTarget,
  type Troupe,
  type TroupeOptions,
} from '../../src/index.ts';
import {
  type ScriptedAnswer,
  type ScriptedHttp,
  startScriptedHttp,
} from '../fixtures/remote/scripted-http.ts';

let running: Troupe | undefined;
let server: ScriptedHttp | undefined;

afterEach(async () => {
  await running?.stop();
  await server?.close();
  running = undefined;
  server = undefined;
});

const refusal: ScriptedAnswer = { status: 401, text: 'no' };

/** A server that accepts one token, and counts what it ran. */
async function startGuarded() {
  const seen = { accepted: 'first-token', ran: 0, refused: 0, said: '' };
  server = await startScriptedHttp(({ id, method }, { authorization }) => {
    if (authorization !== `Bearer ${seen.accepted}`) {
      seen.refused += 1;
      return refusal;
    }
    if (method !== 'tools/call') return undefined;
    seen.ran += 1;
    const result = { content: [{ type: 'text', text: 'done' }] };
    const error = { code: -32_000, message: `you sent ${authorization}` };
    return {
      status: 200,
      headers: { 'content-type': 'application/json' },
      text: JSON.stringify({ jsonrpc: '2.0', id, ...(seen.said === '' ? { result } : { error }) }),
    };
  });
  return { seen, url: server.url };
}

function start(options: TroupeOptions): Troupe {
  running = createTroupe({ seed: 1, ...options });
  return running;
}

describe("a host's headers", () => {
  it('are fetched once for twenty calls that are refused together, and no call runs twice', async () => {
    const { seen, url } = await startGuarded();
    const asked: [HeadersTarget, string][] = [];
    const troupe = start({
      settings: { mcpServers: { db: { url: `${url}?x=1` } } },
      headers: (target, reason) => {
        asked.push([target, reason]);
        return Promise.resolve({ Authorization: `Bearer ${seen.accepted}` });
      },
    });
    await troupe.waitFor('db', 'ready');
    expect(asked).toEqual([[{ name: 'db', url: `${url}?x=1`, scope: 'api' }, 'connect']]);
    seen.accepted = 'second-token';
    const calls = Array.from({ length: 20 }, () => troupe.callServerTool('db', 'echo', {}));
    const reports = await Promise.all(calls);
    expect(reports.map(({ result }) => result.content)).toEqual(
      reports.map(() => [{ type: 'text', text: 'done' }]),
    );
    expect(seen.ran).toBe(20);
    expect(asked.map(([, reason]) => reason)).toEqual(['connect', 'refused']);
  });

  it('that the server refuses again end the call, and are fetched once for it', async () => {
    const { seen, url } = await startGuarded();
    const reasons: string[] = [];
    const troupe = start({
      settings: { mcpServers: { db: { url } } },
      headers: (_, reason) => {
        reasons.push(reason);
        return Promise.resolve({ authorization: 'Bearer first-token' });
      },
    });
    await troupe.waitFor('db', 'ready');
    seen.accepted = 'unknown';
    await expect(troupe.callServerTool('db', 'echo', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    });
    expect(reasons.slice(0, 2)).toEqual(['connect', 'refused']);
    expect(seen.ran).toBe(0);
  });

  it('are redacted after they changed', async () => {
    const { seen, url } = await startGuarded();
    const troupe = start({
      settings: { mcpServers: { db: { url } } },
      headers: () => Promise.resolve({ Authorization: `Bearer ${seen.accepted}` }),
    });
    await troupe.waitFor('db', 'ready');
    seen.accepted = 'rotated-and-secret';
    await troupe.callServerTool('db', 'echo', {});
    seen.said = 'error';
    const error: unknown = await troupe
      .callServerTool('db', 'echo', {})
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain('you sent');
    expect(JSON.stringify([String(error), error])).not.toContain('rotated-and-secret');
  });
});

describe("a program's headers", () => {
  it('are fetched again when the server refuses them', async () => {
    const { seen, url } = await startGuarded();
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-headers-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'token');
    const put = (token: string): void => {
      seen.accepted = token;
      writeFileSync(file, token);
    };
    put('token-of-monday');
    const script = `const token = require('fs').readFileSync(process.argv[1], 'utf8');
      console.log(JSON.stringify({ Authorization: 'Bearer ' + token }));`;
    const troupe = start({
      settings: {
        mcp: { commandValues: true },
        mcpServers: { db: { url, headersCommand: [process.execPath, '-e', script, file] } },
      },
    });
    await troupe.waitFor('db', 'ready');
    put('token-of-tuesday');
    const { meta } = await troupe.callServerTool('db', 'echo', {});
    expect(meta.attempts).toBe(1);
    expect(seen.ran).toBe(1);
  });
});

describe('a variable in headers', () => {
  it('is read again when the server refuses it', async () => {
    const { seen, url } = await startGuarded();
    const env: Record<string, string> = { TOKEN: 'first-token' };
    const troupe = start({
      env,
      settings: { mcpServers: { db: { url, headers: { Authorization: 'Bearer ${TOKEN}' } } } },
    });
    await troupe.waitFor('db', 'ready');
    env['TOKEN'] = seen.accepted = 'later-token';
    await troupe.callServerTool('db', 'echo', {});
    expect(seen.ran).toBe(1);
  });

  it('is never read again for a header that is plain text', async () => {
    const { seen, url } = await startGuarded();
    const troupe = start({
      settings: { mcpServers: { db: { url, headers: { Authorization: 'Bearer first-token' } } } },
    });
    await troupe.waitFor('db', 'ready');
    seen.accepted = 'other';
    const before = seen.refused;
    await expect(troupe.callServerTool('db', 'echo', {})).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
    });
    expect(seen.refused - before).toBe(1);
  });
});
