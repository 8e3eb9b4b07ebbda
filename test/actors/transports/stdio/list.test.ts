/** Sessions with servers whose tool list is expensive to read. */

import { afterEach, describe, expect, it } from 'vitest';

import type { PolicyOverrides } from '../../../../src/domain/policy.ts';
import type { ServerSpec } from '../../../../src/domain/server-spec.ts';
import { type Bench, callOptions, createBench, fixtureSpec } from '../../session/bench.ts';

let bench: Bench | undefined;

afterEach(() => bench?.stop());

async function opened(spec: ServerSpec, policy: PolicyOverrides = {}): Promise<Bench> {
  bench = createBench(spec)({ policy });
  bench.send('session.open');
  await bench.next('session.opened');
  return bench;
}

describe('an expensive tool list', () => {
  it('ends quickly although the server lists 400,000 entries that are not tools', async () => {
    const session = await opened(fixtureSpec('zeros'));
    session.send('session.list');
    await session.next('session.listed');
    expect(session.catalog).toEqual([]);
    await session.next('session.impaired');
    expect(session.lines.join()).toContain('tool number 5: is not an object; and 1996 more');
  });

  it('fails when it has more values than the limit', async () => {
    const session = await opened(fixtureSpec('zeros', { value: '7000000' }));
    session.send('session.list');
    const { failure } = await session.next('session.listFailed');
    expect(failure.message).toContain('more than 500,000 values');
  });

  it('ends the session when the first request for it is not answered', async () => {
    const session = await opened(fixtureSpec('hang-list', { value: '1' }), {
      connect: { listTimeoutMs: 300 },
    });
    session.send('session.list');
    expect((await session.next('session.closed')).failure).toEqual({
      kind: 'initTimeout',
      message: 'The server did not list its tools within 300 ms.',
    });
  });

  it('is abandoned and retried when a later request for it is not answered', async () => {
    const session = await opened(fixtureSpec('hang-list', { value: '2' }), {
      connect: { listTimeoutMs: 300 },
    });
    session.send('session.list');
    await session.next('session.listed');
    session.send('session.list');
    session.send('session.list');
    const { failure } = await session.next('session.listFailed');
    expect(failure).toEqual({
      kind: 'protocol',
      message: 'The server did not list its tools within 300 ms.',
    });
    expect(await session.next('session.listed')).toMatchObject({ toolCount: 4 });
    expect(await session.logged('cancelled')).toContain('cancelled');
    expect(await session.handle().callTool('echo', {}, callOptions())).toHaveProperty('result');
  });
});
