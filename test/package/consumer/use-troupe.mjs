// A caller in plain JavaScript: starts a troupe of one process, calls a tool, ends it.
import assert from 'node:assert/strict';
import { createTroupe, version } from 'mcp-troupe';
import manifest from 'mcp-troupe/package.json' with { type: 'json' };

assert.equal(version, manifest.version);
// Where pages are rendered, there are no elements.
await import('mcp-troupe/chart');

const troupe = createTroupe({ sources: ['troupe.json'] });
await troupe.ready();
const status = await troupe.waitFor('fixture', 'ready', { timeoutMs: 30_000 });
assert.equal(status.state, 'ready');
const { result, meta } = await troupe.callTool('mcp__fixture__echo', { text: 'hi' });
assert.deepEqual(result.content, [{ type: 'text', text: '{"text":"hi"}' }]);
assert.equal(meta.attempts, 1);
await assert.rejects(troupe.callTool('mcp__fixture__ehco'), { code: 'TOOL_UNKNOWN' });
await troupe.stop();
