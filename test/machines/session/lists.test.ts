/** The lists of a session, told as stories. */

import { describe, expect, it } from 'vitest';
import { expectStory } from '../golden.ts';
import { failure, listed, unlisted } from './small-session.ts';
import { type SessionStage, stageSession } from './stage.ts';

/** Connects a local server and begins the story at its first list. */
function connect(): SessionStage {
  const stage = stageSession();
  stage.connect();
  stage.beginHere();
  return stage;
}

/** Begins the story when the session is open. */
function open(): SessionStage {
  const stage = stageSession();
  stage.open();
  stage.beginHere();
  return stage;
}

describe('the first list', () => {
  it('closes the session when it times out', async () => {
    const stage = connect();
    stage.clock.advanceBy(5_000);
    stage.answer('closeConnection', { at: 5_100, evidence: {} });
    expect(stage.ends).toMatchObject([{ failure: { kind: 'initTimeout' }, wasOpen: false }]);
    await expectStory(stage, 'session/late-list');
  });

  it('closes the session when it fails', async () => {
    const stage = connect();
    stage.answer('firstList', unlisted());
    await expectStory(stage, 'session/first-list-fails');
  });

  it('is followed by another when the tools change meanwhile', async () => {
    const stage = connect();
    stage.report({ type: 'tools.changed' });
    stage.answer('firstList', listed(1));
    stage.answer('tools/listItems', listed(2));
    stage.clock.advanceBy(1_000);
    await expectStory(stage, 'session/changed-during-first-list');
  });

  it('restarts its deadline when the machine wakes', () => {
    const stage = connect();
    stage.clock.advanceBy(4_999);
    stage.command({ type: 'server.woke', spreadMs: 2_000 });
    stage.clock.advanceBy(4_999);
    expect(stage.snapshot().matches('loadingTools')).toBe(true);
    stage.clock.advanceBy(1);
    expect(stage.snapshot().value).toBe('closing');
  });

  it('reports what is missing from it', () => {
    const stage = connect();
    stage.answer('firstList', listed(1, failure('protocol')));
    expect(stage.facts.slice(1)).toEqual([
      { type: 'session.listed', at: 0, toolCount: 1 },
      { type: 'session.impaired', reason: 'partialCatalog', failure: failure('protocol') },
    ]);
  });
});

describe("an open session's lists", () => {
  it('are retried after a failure while the session keeps the old ones', async () => {
    const stage = open();
    stage.report({ type: 'tools.changed' });
    stage.answer('tools/listItems', unlisted());
    stage.clock.advanceBy(30_000);
    stage.answer('tools/listItems', listed(2));
    stage.clock.advanceBy(1_000);
    await expectStory(stage, 'session/list-retried');
  });

  it('are requested at growing intervals while the server keeps announcing changes', async () => {
    const stage = open();
    for (let list = 1; list <= 9; list += 1) {
      stage.report({ type: 'tools.changed' });
      // Announced during the list, and again in the pause after it.
      stage.report({ type: 'tools.changed' });
      stage.answer('tools/listItems', listed(list));
      stage.clock.advanceBy(1);
      stage.report({ type: 'tools.changed' });
      while (!stage.running.includes('tools/listItems')) stage.clock.runNext();
    }
    stage.chapter('the server is quiet');
    stage.answer('tools/listItems', listed(10));
    stage.clock.advanceBy(30_000);
    expect(stage.snapshot().matches({ open: { tools: 'current' } })).toBe(true);
    await expectStory(stage, 'session/chatty-lists');
  });

  it('are requested at the end of a pause during which they changed', () => {
    const stage = open();
    stage.report({ type: 'tools.changed' });
    stage.answer('tools/listItems', listed());
    stage.clock.advanceBy(249);
    stage.report({ type: 'tools.changed' });
    expect(stage.running).not.toContain('tools/listItems');
    stage.clock.advanceBy(1);
    expect(stage.running).toContain('tools/listItems');
  });

  it('are requested immediately on demand but never concurrently', () => {
    const stage = open();
    const lists = (): number =>
      stage.requests.filter((name) => name === 'tools/listItems tools').length;
    stage.command({ type: 'session.list' });
    stage.command({ type: 'session.list' });
    expect(lists()).toBe(1);
    stage.answer('tools/listItems', listed());
    stage.command({ type: 'session.list' });
    expect(lists()).toBe(2);
  });

  it('are all requested on demand, in the same session, even during a list or a pause', () => {
    const stage = stageSession();
    stage.open({ resources: true, prompts: true });
    const asked = (): readonly number[] =>
      ['tools', 'resources', 'prompts'].map(
        (list) => stage.requests.filter((name) => name === `${list}/listItems ${list}`).length,
      );
    const before = asked();
    for (const list of ['resources', 'prompts'] as const)
      stage.answer(`${list}/listItems`, listed());
    stage.command({ type: 'session.refresh' });
    const after = asked();
    expect(after.map((count, place) => count - (before[place] ?? 0))).toEqual([1, 1, 1]);
  });

  it('are requested again once they expire', () => {
    const stage = stageSession({ policy: { catalog: { ttlMs: 300_000 } } });
    stage.open({ resources: true, prompts: true });
    for (const list of ['resources', 'prompts'] as const)
      stage.answer(`${list}/listItems`, listed());
    stage.clock.advanceBy(299_999);
    expect(stage.running).not.toContain('tools/listItems');
    stage.clock.advanceBy(1_001);
    for (const list of ['tools', 'resources', 'prompts'])
      expect(stage.running).toContain(`${list}/listItems`);
  });

  it('never expire without a limit', () => {
    const stage = stageSession({ policy: { catalog: { ttlMs: null } } });
    stage.open();
    stage.clock.advanceBy(2_147_483_647 * 2);
    expect(stage.running).not.toContain('tools/listItems');
  });

  it('are requested soon after a failure during which they changed', () => {
    const stage = open();
    stage.report({ type: 'tools.changed' });
    stage.report({ type: 'tools.changed' });
    stage.answer('tools/listItems', unlisted());
    stage.clock.advanceBy(250);
    expect(stage.running).toContain('tools/listItems');
    stage.report({ type: 'tools.changed' });
    stage.chapter('late this time');
    stage.clock.advanceBy(5_000);
    expect(stage.running).not.toContain('tools/listItems');
    stage.clock.advanceBy(500);
    expect(stage.running).toContain('tools/listItems');
  });

  it('time out and are retried at growing intervals', async () => {
    const stage = stageSession();
    stage.open({ resources: true, prompts: true });
    stage.beginHere();
    stage.answer('prompts/listItems', listed());
    for (let list = 1; list <= 4; list += 1) {
      stage.clock.advanceBy(5_000);
      while (!stage.running.includes('resources/listItems')) stage.clock.runNext();
    }
    stage.answer('resources/listItems', listed());
    await expectStory(stage, 'session/late-lists');
    expect(stage.facts.filter(({ type }) => type === 'session.listFailed')).toEqual([]);
  });

  it('are requested again when resources and prompts change', () => {
    const stage = stageSession();
    stage.open({ resources: true, prompts: true });
    for (const list of ['resources', 'prompts'] as const) {
      stage.answer(`${list}/listItems`, listed());
      stage.clock.advanceBy(1_000);
      expect(stage.running).not.toContain(`${list}/listItems`);
      stage.report({ type: `${list}.changed` });
      expect(stage.running).toContain(`${list}/listItems`);
      stage.report({ type: `${list}.changed` });
      stage.answer(`${list}/listItems`, listed());
      stage.clock.advanceBy(1_000);
      expect(stage.running).toContain(`${list}/listItems`);
    }
  });

  it('are reported as partial, with the first gap', () => {
    const stage = stageSession();
    stage.open({ resources: true, prompts: true });
    const before = stage.facts.length;
    stage.answer('resources/listItems', unlisted('protocol'));
    stage.answer('prompts/listItems', listed(0, failure('protocol')));
    stage.report({ type: 'tools.changed' });
    stage.answer('tools/listItems', listed(1, failure('transport')));
    stage.command({ type: 'session.list' });
    stage.answer('tools/listItems', listed(1));
    stage.clock.advanceBy(30_000);
    stage.answer('resources/listItems', listed());
    stage.report({ type: 'prompts.changed' });
    stage.clock.advanceBy(1_000);
    stage.answer('prompts/listItems', listed());
    const reason = 'partialCatalog';
    expect(stage.facts.slice(before).filter(({ type }) => type !== 'session.listed')).toEqual([
      { type: 'session.impaired', reason, failure: failure('protocol') },
      { type: 'session.impaired', reason, failure: failure('transport') },
      { type: 'session.impaired', reason, failure: failure('protocol') },
      { type: 'session.recovered', reason },
    ]);
  });

  it('are reported as failed and retried when a leaf actor throws', () => {
    const stage = open();
    stage.report({ type: 'tools.changed' });
    stage.break('tools/listItems');
    expect(stage.facts.at(-1)).toMatchObject({
      type: 'session.listFailed',
      failure: { kind: 'unknown', message: 'The list of tools broke; please report it.' },
    });
    stage.clock.advanceBy(30_000);
    expect(stage.running).toContain('tools/listItems');
  });
});
