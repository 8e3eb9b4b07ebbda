import { describe, expect, it } from 'vitest';

import { pong } from '../runtime/stage.ts';
import { readOpenMetrics } from '../support/open-metrics.ts';
import { type GatewayStage, gatewayStage, openSession, post, token } from './gateway-stage.ts';

async function scrape({ url }: Pick<GatewayStage, 'url'>): Promise<string> {
  const response = await fetch(new URL('/metrics', url), {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.headers.get('content-type')).toBe(
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  );
  return response.text();
}

describe("the gateway's metrics", () => {
  it('are valid OpenMetrics and count calls', async () => {
    const stage = await gatewayStage();
    readOpenMetrics(await scrape(stage));
    const session = await openSession(stage.url);
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(stage.url, message, { 'mcp-session-id': session });
    (await stage.nextCall('db')).answer(pong);
    await (await answer).text();
    const families = readOpenMetrics(await scrape(stage));
    const samplesOf = (name: string) => families.get(`mcp_troupe_${name}`)?.samples ?? [];
    expect(samplesOf('calls').map(({ labels, value }) => [labels, value])).toEqual([
      [{ server: 'db', code: 'ok' }, 1],
    ]);
    expect(samplesOf('clients').map(({ value }) => value)).toEqual([1]);
    for (const server of ['db', 'web']) {
      const states = samplesOf('server_state').filter(({ labels }) => labels['server'] === server);
      const current = states.filter(({ value }) => value === 1);
      expect(current.map(({ labels }) => labels['state'])).toEqual(['ready']);
      expect(states.every(({ value }) => value === 0 || value === 1)).toBe(true);
    }
    for (const family of families.values()) expect(family.help).toMatch(/^[A-Z].*\.$/);
    expect(families.get('mcp_troupe_call_duration_seconds')?.unit).toBe('seconds');
  });

  it('escape every server name', async () => {
    const stage = await gatewayStage();
    const names = ['quo"te', 'back\\slash', 'end\\', 'two\nlines', '\\n', 'a="b",c{}', 'grün', ' '];
    for (const name of names) stage.gateway.metrics.ended(name, 'ok', 10);
    const calls = readOpenMetrics(await scrape(stage)).get('mcp_troupe_calls');
    expect(calls?.samples.map(({ labels }) => labels['server'])).toEqual(names);
  });
});

describe("the tests' metrics parser", () => {
  const head = '# TYPE a counter\n# HELP a Help.\n';
  it.each([
    ['a missing end marker', `${head}a_total 1\n`],
    ['data after the end marker', `${head}# EOF\na_total 1\n`],
    ['an empty line', `${head}\na_total 1\n# EOF\n`],
    ['a counter without its suffix', `${head}a 1\n# EOF\n`],
    ['a sample without a family', 'b 1\n# EOF\n'],
    ['a raw quote', `${head}a_total{b="c"d"} 1\n# EOF\n`],
    ['a raw backslash', `${head}a_total{b="c\\d"} 1\n# EOF\n`],
    ['a raw line feed', `${head}a_total{b="c\nd"} 1\n# EOF\n`],
    ['a duplicate label', `${head}a_total{b="c",b="d"} 1\n# EOF\n`],
    ['a duplicate sample', `${head}a_total{b="c"} 1\na_total{b="c"} 2\n# EOF\n`],
    ['a raw backslash in help', '# TYPE a gauge\n# HELP a x\\y\n# EOF\n'],
    ['an invalid number', `${head}a_total x\n# EOF\n`],
    [
      'decreasing buckets',
      '# TYPE a histogram\na_bucket{le="1.0"} 2\na_bucket{le="+Inf"} 1\na_count 1\na_sum 1\n# EOF\n',
    ],
  ])('rejects %s', (_what, text) => {
    expect(() => readOpenMetrics(text)).toThrow();
  });
});
