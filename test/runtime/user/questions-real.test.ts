/** Questions from real servers, from the tool that asks to the caller that answers. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import {
  createTroupe,
  type Question,
  type QuestionAnswer,
  type QuestionHandler,
  type Troupe,
  type TroupeOptions,
} from '../../../src/index.ts';

const everything = new URL(
  '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
  import.meta.url,
).pathname;
const asking = new URL('../../fixtures/asking-server.mjs', import.meta.url).pathname;

let running: Troupe | undefined;
let remote: ChildProcess | undefined;

afterEach(async () => {
  await running?.stop();
  remote?.kill('SIGKILL');
  running = undefined;
  remote = undefined;
});

async function start(entry: object, options: TroupeOptions = {}): Promise<Troupe> {
  running = createTroupe({ seed: 1, settings: { mcpServers: { db: entry } }, ...options });
  await running.waitFor('db', 'ready', { timeoutMs: 60_000 });
  return running;
}

const overStdio = { command: process.execPath, args: [everything, 'stdio'] };

async function overHttp(): Promise<object> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no port');
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { ...process.env, PORT: String(address.port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  remote = child;
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the server left')));
    child.stderr.on('data', (chunk) => {
      if (String(chunk).includes(String(address.port))) resolve();
    });
  });
  return { type: 'http', url: `http://127.0.0.1:${address.port}/mcp` };
}

/** The text of a call's answer. */
async function call(
  troupe: Troupe,
  tool: string,
  args: Record<string, unknown> = {},
  onQuestion?: QuestionHandler,
): Promise<string> {
  const options = onQuestion === undefined ? {} : { onQuestion };
  const { result } = await troupe.callServerTool('db', tool, args, options);
  return result.content.map((block) => String(block['text'])).join('\n');
}

const saying =
  (answer: QuestionAnswer, seen: Question[] = []): QuestionHandler =>
  (question) => {
    seen.push(question);
    return answer;
  };

describe('server-everything', () => {
  it('does not announce questions without a handler', async () => {
    const troupe = await start(overStdio);
    const names = troupe.tools().map(({ tool }) => tool);
    expect(names).toContain('echo');
    expect(names).not.toContain('trigger-elicitation-request');
    expect(names).not.toContain('get-roots-list');
  });

  it('gets its form filled in with the missing defaults', async () => {
    const seen: Question[] = [];
    const troupe = await start(overStdio, { questions: ['form'] });
    const answer = saying({ action: 'accept', content: { name: 'Ada', integer: 7 } }, seen);
    const text = await call(troupe, 'trigger-elicitation-request', {}, answer);
    expect(seen).toMatchObject([{ kind: 'form', tool: 'trigger-elicitation-request' }]);
    expect(text).toContain('- Name: Ada');
    expect(text).toContain('- Favorite Integer: 7');
    expect(text).toContain('- Favorite Number: 3.14');
    expect(troupe.questions()).toEqual([]);
  });

  it('gets an answer by id, and other questions are declined', async () => {
    const troupe = await start(overStdio, { onQuestion: () => undefined });
    const asked = new Promise<Question>((resolve) => {
      troupe.on('question.asked', ({ question }) => resolve(question));
    });
    const text = call(troupe, 'trigger-elicitation-request');
    const { id } = await asked;
    expect(troupe.status('db')).toMatchObject({ action: `troupe answer ${id}` });
    troupe.answer(id, { action: 'decline' });
    expect(await text).toContain('declined');
  });

  it("never gets one caller's answer for another caller's call over stdio", async () => {
    const troupe = await start(overStdio, { questions: ['form'] });
    const seen: Question[] = [];
    const answer = saying({ action: 'accept', content: { name: 'Ada' } }, seen);
    const both = [1, 2].map(() => call(troupe, 'trigger-elicitation-request', {}, answer));
    const texts = await Promise.all(both);
    // Each came while two calls were there, or was the last of them.
    for (const text of texts) expect(text).toMatch(/declined|Name: Ada/u);
    expect(texts.some((text) => text.includes('declined'))).toBe(true);
    expect(seen.length).toBeLessThan(2);
  });

  it("gets each caller's answer for its own call over HTTP", async () => {
    const troupe = await start(await overHttp(), { questions: ['form'] });
    const texts = await Promise.all(
      ['Ada', 'Bob', 'Cleo'].map((name) =>
        call(
          troupe,
          'trigger-elicitation-request',
          {},
          saying({ action: 'accept', content: { name } }),
        ),
      ),
    );
    expect(texts.map((text) => /Name: (\w+)/u.exec(text)?.[1])).toEqual(['Ada', 'Bob', 'Cleo']);
  });

  it('is called again after the required URL is visited', async () => {
    const seen: Question[] = [];
    const troupe = await start(overStdio, { questions: ['url'] });
    const args = { url: 'https://example.com/x', errorPath: true };
    const answer = saying({ action: 'accept' }, seen);
    const text = await call(troupe, 'trigger-url-elicitation', args, answer);
    expect(seen.map((question) => question.kind === 'url' && question.url)).toEqual([
      'https://modelcontextprotocol.io/',
      'https://example.com/x',
    ]);
    expect(text).toContain('User completed the URL elicitation flow');
  });

  it('reports an unknown outcome without the visit', async () => {
    const troupe = await start(overStdio, { questions: ['url'] });
    const args = { url: 'https://example.com/x', errorPath: true };
    await expect(call(troupe, 'trigger-url-elicitation', args)).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      outcome: 'unknown',
    });
  });

  it('gets a message sampled from a model', async () => {
    const troupe = await start(overStdio, { questions: ['sampling'] });
    const sampling = {
      model: 'small',
      role: 'assistant',
      content: { type: 'text', text: 'Bonjour' },
    } as const;
    const answer = saying({ action: 'accept', sampling });
    const text = await call(
      troupe,
      'trigger-sampling-request',
      { prompt: 'hi', maxTokens: 5 },
      answer,
    );
    expect(text).toContain('Bonjour');
  });

  it("sees the host's roots and their changes", async () => {
    const troupe = await start(overStdio, {
      roots: ['/tmp', { uri: 'file:///srv', name: 'Data' }],
    });
    expect(await call(troupe, 'get-roots-list')).toContain('file:///srv');
    troupe.send({ type: 'roots.changed', roots: ['/opt'] });
    // The server asks for them when it hears of it, which is before it reads the next call.
    for (let text = ''; !text.includes('file:///opt'); )
      text = await call(troupe, 'get-roots-list');
    expect(await call(troupe, 'get-roots-list')).not.toContain('file:///srv');
  });
});

describe('a server of the 2026-07-28 revision', () => {
  const modern = { command: process.execPath, args: [asking] };

  it('continues with each answer within one call', async () => {
    const troupe = await start(modern, { questions: ['form'] });
    const seen: string[] = [];
    const { result, meta } = await troupe.callServerTool(
      'db',
      'greet',
      {},
      {
        onQuestion: (question) => {
          seen.push(question.message);
          return { action: 'accept', content: { value: seen.length === 1 ? 'Ada' : 'Lovelace' } };
        },
      },
    );
    expect(troupe.status('db')).toMatchObject({ era: 'modern' });
    expect(seen).toEqual(['First name?', 'Last name?']);
    expect(result.content).toMatchObject([{ type: 'text', text: 'Ada Lovelace' }]);
    expect(meta.attempts).toBe(1);
  });

  it('is notified that the user declined', async () => {
    const troupe = await start(modern, { onQuestion: () => ({ action: 'decline' }) });
    expect(await call(troupe, 'greet')).toBe('it was decline');
  });

  it('is notified that there is no handler', async () => {
    const troupe = await start(modern, { questions: ['form'] });
    await expect(call(troupe, 'greet')).rejects.toMatchObject({
      code: 'INPUT_REQUIRED',
      outcome: 'unknown',
      retryable: false,
    });
  });
});
