import { afterEach, describe, expect, it } from 'vitest';

import { type Bench, callOptions, createBench, fixtureSpec } from '../bench.ts';

let bench: Bench | undefined;
afterEach(() => bench?.stop());

describe('lists requested after the tools', () => {
  it('do not affect the tools when they fail, and report the reason', async () => {
    bench = createBench(fixtureSpec('bad-prompts'))();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    expect(await bench.next('session.listed')).toMatchObject({ toolCount: 4 });
    await bench.logged('no prompts today');
    await bench.logged('Not all resources are listed');
    expect(bench.side).toEqual({
      resources: [
        { uri: 'a:1', name: 'one' },
        { uri: 'a:2', name: 'a:2' },
      ],
      // The server does not know the request, so it has none.
      resourceTemplates: [],
    });
    expect(await bench.next('session.impaired')).toMatchObject({
      reason: 'partialCatalog',
      failure: { kind: 'protocol' },
    });
    expect(bench.lines.find((line) => line.includes('resources'))).toContain(
      'resource "none": has no address; resource "again" is listed twice',
    );
  });

  it('are not requested from a server that does not offer them', async () => {
    bench = createBench(fixtureSpec('ok'))();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    await bench.next('session.listed');
    expect(bench.side).toEqual({ resources: [], resourceTemplates: [], prompts: [] });
    const request = { kind: 'getPrompt', params: { name: 'greet' } } as const;
    expect(await bench.handle().request(request, callOptions())).toEqual({
      failure: {
        reason: 'unsupported',
        written: false,
        message: 'The server does not offer prompts.',
      },
    });
  });
});
