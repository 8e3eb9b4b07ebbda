/** What the settings say of failures, from their text to the state of a server that is really there. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { createTroupe } from '../../src/index.ts';
import {
  rpcError,
  type ScriptedAnswer,
  type ScriptedHttp,
  type ScriptedMessage,
  startScriptedHttp,
} from '../fixtures/remote/scripted-http.ts';
import { watch } from './stage.ts';

const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

type Script = (message: ScriptedMessage) => ScriptedAnswer | undefined;

async function serve(script: Script): Promise<ScriptedHttp> {
  const server = await startScriptedHttp(script);
  endings.push(() => server.close());
  return server;
}

async function troupeOf(url: string, policy: unknown) {
  const stateDir = await mkdtemp(join(tmpdir(), 'troupe-rules-'));
  endings.push(() => rm(stateDir, { recursive: true, force: true }));
  const settings = { mcpServers: { web: { url, era: 'legacy', policy } } };
  const troupe = createTroupe({ settings, stateDir });
  endings.push(() => troupe.stop());
  return troupe;
}

const withRules = (...rules: readonly unknown[]) => ({ classify: { rules } });
const onCalls = (
  answer: (message: ScriptedMessage, count: number) => ScriptedAnswer | undefined,
): Script => {
  let count = 0;
  return (message) => {
    if (message.method !== 'tools/call') return undefined;
    count += 1;
    return answer(message, count);
  };
};

const sessionsOf = ({ seen }: ScriptedHttp): number =>
  seen.filter((method) => method === 'initialize').length;

const callsOf = ({ seen }: ScriptedHttp): number =>
  seen.filter((method) => method === 'tools/call').length;

describe('a failure rule in settings', () => {
  const maintenance: ScriptedAnswer = { status: 418, text: 'Down for Maintenance, log in again' };

  it('takes precedence over the built-in rules when connecting fails', async () => {
    const { url } = await serve(() => maintenance);
    const troupe = await troupeOf(url, withRules({ status: 418, kind: 'authRequired' }));
    const { lastError } = await troupe.waitFor('web', 'authRequired');
    expect(lastError).toMatchObject({ kind: 'authRequired', code: 'AUTH_REQUIRED' });
  });

  it('matches response text case-insensitively', async () => {
    const { url } = await serve(() => maintenance);
    const rule = { message: 'FOR MAINTENANCE', kind: 'versionUnsupported' };
    const troupe = await troupeOf(url, withRules(rule));
    expect(await troupe.waitFor('web', 'failed')).toMatchObject({ reason: 'versionUnsupported' });
  });

  it('applies only when all its conditions match', async () => {
    const { url } = await serve(() => maintenance);
    const rule = { status: 418, message: 'something else', kind: 'authRequired' };
    const troupe = await troupeOf(url, withRules(rule));
    const { lastError } = await troupe.waitFor('web', 'backingOff');
    expect(lastError).toMatchObject({ kind: 'protocol' });
  });

  const lostOnce = (): Script =>
    onCalls((message, count) =>
      count === 1 ? rpcError(message, -32_050, 'who are you?') : undefined,
    );
  const isLost = { code: -32_050, kind: 'sessionMissing' };

  it('reconnects on a matched error without retrying the call', async () => {
    const server = await serve(lostOnce());
    const troupe = await troupeOf(server.url, withRules(isLost));
    await troupe.waitFor('web', 'ready');
    await expect(troupe.callServerTool('web', 'echo')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'unknown',
    });
    await troupe.callServerTool('web', 'echo');
    expect(sessionsOf(server)).toBe(2);
    expect(callsOf(server)).toBe(2);
  });

  it('retries the call of a lost session when the policy accepts two runs', async () => {
    const server = await serve(lostOnce());
    const policy = { ...withRules(isLost), call: { replay: 'once' } };
    const troupe = await troupeOf(server.url, policy);
    await troupe.waitFor('web', 'ready');
    const { meta } = await troupe.callServerTool('web', 'echo');
    expect(meta.attempts).toBe(2);
    expect(sessionsOf(server)).toBe(2);
  });

  it('ends a session whose call requires a login', async () => {
    const { url } = await serve(
      onCalls((message) => rpcError(message, -32_000, 'Token has expired')),
    );
    const rule = { message: 'token has expired', kind: 'authRequired' };
    const troupe = await troupeOf(url, withRules(rule));
    await troupe.waitFor('web', 'ready');
    await expect(troupe.callServerTool('web', 'echo')).rejects.toMatchObject({
      code: 'AUTH_REQUIRED',
      outcome: 'unknown',
    });
    await troupe.waitFor('web', 'authRequired');
  });

  it('cannot report a possibly executed call as not_executed', async () => {
    const server = await serve(onCalls(() => 'reset'));
    const troupe = await troupeOf(
      server.url,
      withRules({ code: 'ECONNRESET', kind: 'unavailable' }),
    );
    await troupe.waitFor('web', 'ready');
    await expect(troupe.callServerTool('web', 'echo')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'unknown',
    });
    expect(server.seen.filter((method) => method === 'tools/call')).toHaveLength(1);
  });

  it('can treat a response as a lost connection with an unknown outcome', async () => {
    const { url } = await serve(onCalls((message) => rpcError(message, -32_000, 'Backend gone')));
    const troupe = await troupeOf(url, withRules({ message: 'backend gone', kind: 'transport' }));
    await troupe.waitFor('web', 'ready');
    await expect(troupe.callServerTool('web', 'echo')).rejects.toMatchObject({
      code: 'STREAM_LOST',
      outcome: 'unknown',
    });
  });

  it('blocks its server and reports the reason when invalid', async () => {
    const troupe = await troupeOf(
      'http://127.0.0.1:9/mcp',
      withRules({ status: 500, kind: 'protocol' }, { message: '', kind: 'protocol' }),
    );
    const { reason, lastError } = await troupe.waitFor('web', 'blocked');
    expect(reason).toBe('invalidConfig');
    expect(lastError?.message).toContain('"classify.rules" rule 2 has a wrong "message"');
  });
});

describe("a remote server's consecutive connection errors", () => {
  async function callsUntil(policy: unknown, isBroken: (count: number) => boolean, calls: number) {
    const server = await serve(
      onCalls((_message, count) => (isBroken(count) ? 'reset' : undefined)),
    );
    const troupe = await troupeOf(server.url, policy);
    await troupe.waitFor('web', 'ready');
    const outcomes: string[] = [];
    for (let call = 0; call < calls; call += 1) {
      const answer = troupe.callServerTool('web', 'echo', {}, { timeoutMs: 60_000 });
      outcomes.push(
        await answer.then(
          () => 'ok',
          (error: { readonly code: string }) => error.code,
        ),
      );
    }
    return { outcomes, sessions: sessionsOf(server) };
  }
  const lost = 'STREAM_LOST';
  // This preset has every call asked for, which is not what these are about.
  const claudeCode = { preset: 'claudeCode', approval: { perCall: false } };

  it('replace the session at the third when the policy says so', async () => {
    const made = await callsUntil(claudeCode, (count) => count <= 3, 4);
    expect(made).toEqual({ outcomes: [lost, lost, lost, 'ok'], sessions: 2 });
  });

  it('reset their count after a success', async () => {
    const made = await callsUntil(claudeCode, (count) => count !== 3, 5);
    expect(made).toEqual({ outcomes: [lost, lost, 'ok', lost, lost], sessions: 1 });
  });

  it('keep the session by default while the server answers pings', async () => {
    const made = await callsUntil('default', (count) => count <= 4, 5);
    expect(made).toEqual({ outcomes: [lost, lost, lost, lost, 'ok'], sessions: 1 });
  });

  it('are not required by default: one refused connection ends the session', async () => {
    const server = await serve(() => undefined);
    const troupe = await troupeOf(server.url, 'default');
    await troupe.waitFor('web', 'ready');
    await server.close();
    const call = watch(troupe.callServerTool('web', 'echo', {}, { timeoutMs: 60_000 }));
    expect(await troupe.waitFor('web', 'backingOff')).toMatchObject({
      lastError: { kind: 'transport' },
      circuit: 'closed',
    });
    await troupe.stop();
    expect(call.state).toBe('refused');
  });
});
