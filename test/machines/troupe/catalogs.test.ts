/** Which stored lists of tools the root remembers. */

import { expect, it } from 'vitest';
import { type TroupeEvent, troupeMachine } from '../../../machines/troupe/troupe.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import { entry, settingsOf } from '../story.ts';
import { troupeInput } from './ways.ts';

const listed = (server: string, generation: string): TroupeEvent => ({
  type: 'catalog.listed',
  server,
  generation,
});

const loaded = (...servers: Parameters<typeof settingsOf>[0]): TroupeEvent => ({
  type: 'settings.loaded',
  settings: settingsOf(servers),
  at: 0,
});

/** A root alone. */
function rootAlone() {
  const inert = createInertScope();
  inert.begin(undefined);
  let root = troupeMachine.getInitialSnapshot(inert.scope, troupeInput);
  return {
    take: (event: TroupeEvent): void => {
      root = troupeMachine.transition(root, event, inert.scope);
    },
    get context() {
      return root.context;
    },
  };
}

it('knows the list of every generation that is ready', () => {
  const root = rootAlone();
  const { take } = root;
  const seamless = (generation: string) => entry('a', { generation, handover: 'seamless' });
  take(loaded(seamless('one')));
  const { actorId = '' } = root.context.live.get('a') ?? {};
  take({ type: 'server.readied', actorId });
  take(loaded(seamless('two')));
  const successor = root.context.live.get('a')?.beside?.actorId ?? '';
  take({ type: 'server.readied', actorId: 'gone.0' });
  expect([...root.context.knownCatalogs.keys()]).toEqual(['one:a']);
  take({ type: 'server.readied', actorId: successor });
  expect([...root.context.knownCatalogs.keys()]).toEqual(['one:a', 'two:a']);
});

it('forgets the lists of earlier generations once there are ten thousand', () => {
  const root = rootAlone();
  const { take } = root;
  take(loaded(entry('a'), entry('b')));
  const present = root.context.live.get('a')?.generation ?? '';
  take(listed('a', present));
  for (let past = 0; past < 10_001; past += 1) take(listed(past % 2 ? 'a' : 'gone', `${past}`));
  expect(root.context.knownCatalogs.size).toBe(10_002);
  take(listed('b', 'past'));
  expect([...root.context.knownCatalogs.keys()]).toEqual([expect.stringContaining(present)]);
});
