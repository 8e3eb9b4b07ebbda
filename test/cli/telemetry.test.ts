import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it, onTestFinished } from 'vitest';
import { createPlace } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sdk = path.join(root, 'test/fixtures/telemetry-sdk.mjs');
const server = path.join(root, 'test/fixtures/meta-server.mjs');
const traceId = '0af7651916cd43dd8448eb211c80319c';
const program = compiledCli();

/** The request that the server behind `troupe serve` received for a call, and the recorded spans. */
async function callThrough(...flags: readonly string[]) {
  const place = createPlace(program);
  place.writeSettings({ meta: { command: process.execPath, args: [server] } });
  const spansFile = path.join(place.folder, 'spans');
  const state = path.join(place.folder, 'state');
  const where = ['--config', place.settings, '--project', place.folder, '--state-dir', state];
  const client = new Client({ name: 'host', version: '1.0.0' });
  const env = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: ['--import', sdk, ...program.words, 'serve', ...where, ...flags],
      cwd: root,
      stderr: 'ignore',
      env: { ...Object.fromEntries(env), SPANS_FILE: spansFile },
    }),
  );
  onTestFinished(() => client.close());
  const { content } = await client.callTool({
    name: 'meta__echo',
    arguments: {},
    _meta: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  });
  await client.close();
  const [block] = content as readonly { readonly text: string }[];
  const lines = existsSync(spansFile) ? readFileSync(spansFile, 'utf8').trim().split('\n') : [];
  return {
    seen: JSON.parse(block?.text ?? '{}') as { readonly traceparent?: string },
    spans: lines.map((line) => JSON.parse(line) as Readonly<Record<string, string>>),
  };
}

// Starts two processes, possibly on a busy machine.
const limit = { timeout: 180_000 };

it('--telemetry uses the SDK that Node has loaded', limit, async () => {
  const { seen, spans } = await callThrough('--telemetry');
  expect(spans).toContainEqual({
    name: 'tools/call echo',
    traceId,
    parent: 'b7ad6b7169203331',
  });
  expect(spans.map(({ name }) => name)).toContain('mcp_troupe.server.connect');
  expect(seen.traceparent).toContain(traceId);
});

it('the SDK is not used without --telemetry', limit, async () => {
  const { seen, spans } = await callThrough();
  expect(spans).toEqual([]);
  expect(seen.traceparent).toBe('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
});
