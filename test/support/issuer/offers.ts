/** Prompts, resources and broken streams of the MCP server, beside the tools that it always has. */

import type { IncomingHttpHeaders } from 'node:http';

import type { RpcMessage } from '../../fixtures/least-peer.ts';

const uri = 'test://one';

const results: Readonly<Record<string, unknown>> = {
  'prompts/list': { prompts: [{ name: 'one' }] },
  'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] },
  'resources/list': { resources: [{ uri, name: 'one' }] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [{ uri, text: 'content' }] },
};

/** The answer to a message about them; undefined for another. */
export function offered({ id, method = '', params = {} }: RpcMessage): unknown {
  const result =
    method === 'initialize'
      ? {
          protocolVersion: params['protocolVersion'],
          capabilities: { tools: {}, prompts: {}, resources: {} },
          serverInfo: { name: 'offering', version: '1.0.0' },
        }
      : results[method];
  return result === undefined ? undefined : { jsonrpc: '2.0', id, result };
}

const streamHeaders = { 'content-type': 'text/event-stream' };

/** Breaks the stream of a call; its response is sent when the stream is resumed. */
export const brokenStream = ({ id }: RpcMessage) => ({
  status: 200,
  headers: streamHeaders,
  html: `id: call-${id}\nretry: 1\ndata:\n\n`,
});

/** The rest of a broken stream. */
export function resumedStream(headers: IncomingHttpHeaders) {
  const [, id] = /^call-(\d+)$/u.exec(String(headers['last-event-id'])) ?? [];
  if (id === undefined) return { status: 405 };
  const result = { content: [{ type: 'text', text: 'late' }] };
  const data = JSON.stringify({ jsonrpc: '2.0', id: Number(id), result });
  return { status: 200, headers: streamHeaders, html: `id: end\ndata: ${data}\n\n` };
}
