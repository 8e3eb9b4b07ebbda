/** Prompts and resources of the MCP server, beside the tools that it always has. */

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
