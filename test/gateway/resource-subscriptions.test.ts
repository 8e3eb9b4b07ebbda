import { describe, expect, it } from 'vitest';

import { crash } from '../runtime/stage.ts';
import { connect, gatewayStage } from './gateway-stage.ts';
import { stdioStage } from './stdio-stage.ts';

const [all, one] = ['troupe://db/note://all', 'troupe://db/note://1'];
const updated = 'notifications/resources/updated';
const acknowledged = 'notifications/subscriptions/acknowledged';

describe('a modern client that listens over stdio', () => {
  const listening = async () => {
    const stage = await stdioStage('modern');
    const watched = (): readonly string[] => stage.sessions.of('db').watched;
    const listen = async (id: number, ...resourceSubscriptions: readonly string[]) => {
      stage.begin(id, 'subscriptions/listen', { notifications: { resourceSubscriptions } });
      expect(await stage.heard()).toMatchObject({ method: acknowledged });
      await stage.settle();
    };
    /** Whatever was said before has been taken in when a later request is answered. */
    const stopListening = async (requestId: number): Promise<void> => {
      stage.notify('notifications/cancelled', { requestId });
      await stage.ask('tools/list');
    };
    return { stage, watched, listen, stopListening };
  };

  it('subscribes on the server to exactly the resources it names', async () => {
    const { stage, watched, listen } = await listening();
    await listen(1, all, 'note://nowhere');
    expect(watched()).toEqual(['note://all']);
    stage.sessions.of('db').update('note://1');
    stage.sessions.of('db').update('note://all');
    expect(await stage.heard()).toMatchObject({
      method: updated,
      params: { uri: all, _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
    });
  });

  it("gets updates for each stream's own resources and unsubscribes when the last stream ends", async () => {
    const { stage, watched, listen, stopListening } = await listening();
    await listen(1, all);
    await listen(2, all, one);
    stage.sessions.of('db').update('note://all');
    const both = [await stage.heard(), await stage.heard()];
    expect(both.map(({ params }) => params?.['_meta'])).toEqual([
      { 'io.modelcontextprotocol/subscriptionId': 1 },
      { 'io.modelcontextprotocol/subscriptionId': 2 },
    ]);
    await stopListening(2);
    expect(watched()).toEqual(['note://all']);
    await stopListening(1);
    expect(watched()).toEqual([]);
  });

  it('leaves no subscription behind when it disconnects', async () => {
    const { stage, watched, listen } = await listening();
    await listen(1, all);
    await stage.leave();
    expect(watched()).toEqual([]);
  });

  it('still receives updates after its server reconnects', async () => {
    const { stage, watched, listen } = await listening();
    await listen(1, all);
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    expect(stage.sessions.scripts.filter(({ input }) => input.server === 'db')).toHaveLength(2);
    expect(watched()).toEqual(['note://all']);
    stage.sessions.of('db').update('note://all');
    expect(await stage.heard()).toMatchObject({ method: updated, params: { uri: all } });
  });
});

describe('modern clients that listen over HTTP', () => {
  it('share one subscription, which survives a reconnect and ends with the last client', async () => {
    const stage = await gatewayStage();
    const ends: (() => void)[] = [];
    const nextEnd = () => new Promise<void>((resolve) => void ends.push(resolve));
    const subscribe = stage.troupe.subscribe.bind(stage.troupe);
    stage.troupe.subscribe = (server, uri) => {
      const end = subscribe(server, uri);
      return () => {
        end();
        ends.shift()?.();
      };
    };
    const heard: string[][] = [[], []];
    let tell: () => void = () => undefined;
    const clients = await Promise.all(
      heard.map((list) =>
        connect(stage, 'auto', (client) => {
          client.setNotificationHandler(updated, ({ params }) => {
            list.push(params.uri);
            tell();
          });
        }),
      ),
    );
    const [first, second] = await Promise.all(
      clients.map((client, at) =>
        client.listen({ resourceSubscriptions: at === 0 ? [all] : [all, one] }),
      ),
    );
    expect(stage.sessions.of('db').watched.toSorted()).toEqual(['note://1', 'note://all']);
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    expect(stage.sessions.of('db').watched.toSorted()).toEqual(['note://1', 'note://all']);
    const told = new Promise<void>((resolve) => {
      tell = () => {
        if (heard.flat().length === 3) resolve();
      };
    });
    stage.sessions.of('db').update('note://all');
    stage.sessions.of('db').update('note://1');
    await told;
    expect(heard).toEqual([[all], [all, one]]);
    const ended = [nextEnd(), nextEnd()];
    await second?.close();
    await Promise.all(ended);
    expect(stage.sessions.of('db').watched).toEqual(['note://all']);
    const last = nextEnd();
    await first?.close();
    await last;
    expect(stage.sessions.of('db').watched).toEqual([]);
  });
});
