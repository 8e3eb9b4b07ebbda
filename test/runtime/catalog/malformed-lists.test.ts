/** Lists in which one item is malformed, from real servers of both eras. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe } from '../../../src/index.ts';
import { type CountingPeerOptions, startCountingPeer } from '../../fixtures/counting-peer.ts';

const inputSchema = { type: 'object' };
const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const badTools: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['an invalid schema', { name: 'bad', inputSchema: 7 }],
  ['no schema', { name: 'bad' }],
  ['a numeric name', { name: 7, inputSchema }],
];
const rows = badTools.flatMap(([what, tool]) =>
  (['legacy', 'modern'] as const).flatMap((era) =>
    (['stdio', 'json', 'events'] as const).map((carrier) => [what, era, carrier, tool] as const),
  ),
);

async function started(carrier: 'stdio' | 'json' | 'events', options: CountingPeerOptions) {
  const peer = await startCountingPeer(carrier, [], options);
  onTestFinished(() => peer.close());
  const troupe = createTroupe({ settings: { mcpServers: { peer: peer.entry } }, bare: true });
  onTestFinished(() => troupe.stop());
  return troupe;
}

describe('a list with a malformed item', () => {
  it.each(rows)('keeps all other tools: %s, %s, %s', async (_what, era, carrier, tool) => {
    const good = { name: 'act', inputSchema };
    const results = { 'tools/list': { ...complete, tools: [tool, good] } };
    const troupe = await started(carrier, { era, results });
    const status = await troupe.waitFor('peer', 'degraded');
    expect(status).toMatchObject({ reason: 'partialCatalog', era });
    expect(troupe.tools().map((each) => each.tool)).toEqual(['act']);
    expect(await troupe.callServerTool('peer', 'act')).toMatchObject({ meta: { attempts: 1 } });
  });

  it.each([
    ['its pages have a cursor', { tools: [], nextCursor: 'again' }, 'repeats a page'],
    ['its cache fields are invalid', { tools: [null], ttlMs: 'x', cacheScope: 7 }, 'number 1'],
    ['its tools are not a list', { tools: {} }, 'a page without a list of tools'],
  ])('is read completely in the 2026 era when %s', async (_what, result, gap) => {
    const results = { 'tools/list': { ...complete, ...result } };
    const troupe = await started('json', { era: 'modern', results });
    const { lastError } = await troupe.waitFor('peer', 'degraded');
    expect(lastError?.message).toContain(gap);
  });

  it.each([
    ['of an unknown type', { resultType: 'later', tools: [] }],
    ['that is not an object', 7],
  ])('fails in the 2026 era with a result %s', async (_what, result) => {
    const results = { 'tools/list': result };
    const troupe = await started('json', { era: 'modern', results });
    const { lastError } = await troupe.waitFor('peer', 'backingOff');
    expect(lastError?.kind).toBe('protocol');
  });

  it.each([
    ['tools', 'is not a list', { tools: {} }],
    ['tools', 'has no usable item', { tools: [null] }],
    ['resources', 'is not a list', { resources: {} }],
    ['resources', 'has no usable item', { resources: [null] }],
  ] as const)('keeps the earlier %s when a refreshed list %s', async (list, _what, garbage) => {
    const results: Record<string, unknown> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, resources: {} },
        serverInfo: { name: 'peer', version: '1' },
      },
      'tools/list': { tools: [{ name: 'act', inputSchema }] },
      'resources/list': { resources: [{ name: 'page', uri: 'a:1' }] },
      'resources/templates/list': { resourceTemplates: [] },
    };
    const troupe = await started('json', { era: 'legacy', results });
    await troupe.waitFor('peer', 'ready');
    await troupe.refresh('peer');
    results[`${list}/list`] = garbage;
    const refreshed = troupe.refresh('peer');
    if (list === 'tools')
      await expect(refreshed).rejects.toMatchObject({ code: 'TIMEOUT_WAITING' });
    else await refreshed;
    expect(troupe.status('peer')).toMatchObject({ state: 'degraded', tools: 1 });
    expect(troupe.resources().map(({ uri }) => uri)).toEqual(['a:1']);
  });
});
