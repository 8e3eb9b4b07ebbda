/**
 * The same story for each adapter, with real processes: a call under way while its server is killed, the
 * next call, a reload that takes a tool away, an image.
 */

import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { AIMessage } from '@langchain/core/messages';
import type { ToolSet } from 'ai';
import { createTroupe, type Troupe } from 'mcp-troupe';
import { liveTools } from 'mcp-troupe/ai-sdk';
import { TroupeToolkit } from 'mcp-troupe/langchain';
import { troupeTools } from 'mcp-troupe/openai';
import { afterEach, describe, expect, it } from 'vitest';

const fixture = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));
const everything = fileURLToPath(
  import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'),
);
const settings = (exclude: readonly string[] = []) => ({
  mcpServers: {
    fixture: { command: 'node', args: [fixture], tools: { exclude } },
    everything: { command: 'node', args: [everything] },
  },
});
// Two processes, one of which starts twice.
const limitMs = 90_000;

interface Framework {
  /** What the model is shown now. */
  names(): readonly string[];
  /** What the model reads of a call. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<unknown>;
}

type Options = { readonly call: { readonly onProgress: () => void } };
let ids = 0;
const nextId = (): string => `call-${(ids += 1)}`;

function aiSdk(troupe: Troupe, options: Options): Framework {
  const live = liveTools(troupe, options);
  const step: ToolSet = {};
  return {
    names() {
      const { activeTools } = live.prepareStep();
      for (const name of activeTools) Object.assign(step, { [name]: live.tools[name] });
      return activeTools;
    },
    async call(name, input = {}) {
      const tool = step[name];
      const toolCallId = nextId();
      try {
        const output: unknown = await tool?.execute?.(input, { toolCallId, messages: [] });
        return await tool?.toModelOutput?.({ toolCallId, input, output });
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

function langChain(troupe: Troupe, options: Options): Framework {
  const toolkit = new TroupeToolkit(troupe, options);
  return {
    names: () => toolkit.getTools().map(({ name }) => name),
    async call(name, args = {}) {
      const message = new AIMessage({ tool_calls: [{ name, args, id: nextId() }] });
      return (await toolkit.runToolCalls(message))[0]?.contentBlocks;
    },
  };
}

function openAi(troupe: Troupe, options: Options): Framework {
  const tools = troupeTools(troupe, options);
  return {
    names: () => tools.responses().map(({ name }) => name),
    async call(name, args = {}) {
      const item = { type: 'function_call', call_id: nextId(), name } as const;
      const output = [{ ...item, arguments: JSON.stringify(args) }];
      return (await tools.runToolCalls({ output }))[0]?.output;
    },
  };
}

let troupe: Troupe | undefined;
afterEach(async () => troupe?.stop());

describe.each([
  ['the AI SDK', aiSdk],
  ['LangChain', langChain],
  ['the OpenAI client', openAi],
])('tools for %s', (_name, frameworkOf) => {
  it('survive a killed server and a reload', { timeout: limitMs }, async () => {
    const own = createTroupe({ settings: settings(), bare: true });
    troupe = own;
    const signs = new EventTarget();
    const progress = once(signs, 'progress');
    const onProgress = () => signs.dispatchEvent(new Event('progress'));
    const framework = frameworkOf(own, { call: { onProgress } });
    await own.waitFor('fixture', 'ready');
    expect(framework.names()).toContain('mcp__fixture__echo');
    const say = async (name: string, args?: Readonly<Record<string, unknown>>) =>
      JSON.stringify(await framework.call(name, args));
    expect(await say('mcp__fixture__echo', { word: 'first' })).toContain('first');

    const slow = say('mcp__fixture__slow');
    await progress;
    process.kill(own.status('fixture')?.pid ?? 0, 'SIGKILL');
    expect(await slow).toContain('It is unknown whether it ran');
    expect(await say('mcp__fixture__echo', { word: 'again' })).toContain('again');

    await own.waitFor('everything', 'ready');
    framework.names();
    const image = await say('mcp__everything__get-tiny-image');
    expect(image).toContain('image/png');
    expect(image).toContain('iVBORw0KGgo');

    const changed = new Promise<void>((resolve) => {
      own.on('tools.changed', () => {
        if (own.tools().every(({ name }) => name !== 'mcp__fixture__echo')) resolve();
      });
    });
    own.send({ type: 'settings.changed', settings: settings(['echo']) });
    await changed;
    expect(framework.names()).not.toContain('mcp__fixture__echo');
    expect(framework.names()).toContain('mcp__fixture__slow');
    expect(await say('mcp__fixture__echo')).toContain('is left out by the settings');
  });
});
