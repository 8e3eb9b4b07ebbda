/** Which stored lists of tools the root remembers. */

import { expect, it } from 'vitest';
import { type TroupeEvent, troupeMachine } from '../../../machines/troupe/troupe.ts';
import { createInertScope } from '../../../machines/xstate-internals.ts';
import { entry, settingsOf } from '../story.ts';
import { troupeInput } from './ways.ts';

const listed = (server: string, generation: string): TroupeEvent => ({
  type: 'catalog.listed',
  server,
  generation,
});

it('forgets the lists of earlier generations once there are ten thousand', () => {
  const inert = createInertScope();
  inert.begin(undefined);
  const loaded: TroupeEvent = {
    type: 'settings.loaded',
    settings: settingsOf([entry('a'), entry('b')]),
    at: 0,
  };
  let root = troupeMachine.getInitialSnapshot(inert.scope, troupeInput);
  const take = (event: TroupeEvent): void => {
    root = troupeMachine.transition(root, event, inert.scope);
  };
  take(loaded);
  const present = root.context.live.get('a')?.generation ?? '';
  take(listed('a', present));
  for (let past = 0; past < 10_001; past += 1) take(listed(past % 2 ? 'a' : 'gone', `${past}`));
  expect(root.context.knownCatalogs.size).toBe(10_002);
  take(listed('b', 'past'));
  expect([...root.context.knownCatalogs.keys()]).toEqual([expect.stringContaining(present)]);
});
