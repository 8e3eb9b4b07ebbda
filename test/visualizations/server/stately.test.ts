import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import {
  createInspector,
  createWebSocketInspector,
  type StatelyInspectionEvent,
} from '@statelyai/inspect';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocketServer } from 'ws';
import { createScriptedTroupe } from '../../../src/testing/index.ts';
import { inspectWithStately } from '../../../visualizations/server/stately.ts';

const secret = 'sk-live-0123456789abcdef';

async function startTroupe() {
  const script = createScriptedTroupe({
    settings: { mcpServers: { db: { command: 'db', env: { TOKEN: secret } } } },
  });
  await script.settle();
  onTestFinished(async () => {
    await Promise.all([script.troupe.stop(), script.advance(10_000)]);
  });
  return script;
}

function hearWarnings(): ReturnType<typeof vi.spyOn> {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warn.mockRestore());
  return warn;
}

/** An inspector of the package itself, with an adapter that keeps what it is given. */
function keeper() {
  const events: StatelyInspectionEvent[] = [];
  const inspector = createInspector({ send: (event) => void events.push(event) });
  const last = (type: string, sessionId?: string) =>
    events.findLast(
      (each) => each.type === type && (sessionId ?? each.sessionId) === each.sessionId,
    );
  const actor = (name: string) =>
    events.find((each) => each.type === '@xstate.actor' && each.name === name);
  return { events, inspector, last, actor };
}

describe("a troupe in Stately's tools", () => {
  it('warns about the data that it sends', async () => {
    const warn = hearWarnings();
    const { troupe } = await startTroupe();
    inspectWithStately(troupe, keeper().inspector);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/names, states and failures of all servers are sent to the inspector/),
      { type: 'McpTroupeWarning', code: 'MCP_TROUPE_STATELY' },
    );
  });

  it('sends the existing actors with their charts and states', async () => {
    hearWarnings();
    const { troupe } = await startTroupe();
    const { inspector, actor, events } = keeper();
    inspectWithStately(troupe, inspector);
    const server = actor('db.0');
    const root = events.find(
      (each) => each.type === '@xstate.actor' && each.parentId === undefined,
    );
    expect(server).toMatchObject({
      parentId: root?.sessionId,
      rootId: root?.sessionId,
      snapshot: {
        status: 'active',
        value: {
          connection: { engaged: { live: 'connecting' } },
          catalog: 'none',
          circuit: 'closed',
        },
        context: { name: 'db', transport: 'stdio' },
      },
    });
    const definition: unknown = JSON.parse(
      server?.type === '@xstate.actor' ? (server.definition ?? '') : '',
    );
    expect(definition).toMatchObject({ id: 'server', type: 'parallel' });
    expect(root).toMatchObject({ name: 'troupe' });
    expect(actor('slots')).toBeDefined();
    expect(actor('session')).toMatchObject({ parentId: server?.sessionId });
  });

  it('sends events and states as they happen, until it is stopped', async () => {
    hearWarnings();
    const script = await startTroupe();
    const { troupe, sessions } = script;
    const { inspector, actor, last, events } = keeper();
    const end = inspectWithStately(troupe, inspector);
    sessions.of('db').open({ era: 'modern' });
    sessions.of('db').list([]);
    await script.settle();
    const id = actor('db.0')?.sessionId;
    const session = actor('session')?.sessionId;
    expect(events).toContainEqual(
      expect.objectContaining({
        type: '@xstate.event',
        sessionId: id,
        sourceId: session,
        event: { type: 'session.opened', era: 'modern' },
      }),
    );
    expect(last('@xstate.snapshot', id)).toMatchObject({
      event: { type: 'session.listed' },
      snapshot: {
        value: { connection: { engaged: { live: 'ready' } }, catalog: 'live' },
        context: { peer: { era: 'modern' }, name: 'db' },
      },
    });
    end();
    const { length } = events;
    troupe.send({ type: 'server.stop', server: 'db' });
    await script.settle();
    expect(events).toHaveLength(length);
  });

  it('contains no settings and no secrets', async () => {
    hearWarnings();
    const script = await startTroupe();
    const { troupe, sessions } = script;
    const { inspector, events } = keeper();
    inspectWithStately(troupe, inspector);
    sessions.of('db').fail({ kind: 'crashed', message: 'It is gone.' });
    await script.settle();
    expect(JSON.stringify(events)).toContain('xstate.done.actor.session');
    expect(JSON.stringify(events)).not.toContain(secret);
  });

  it('works with an inspector that sends over a socket', async () => {
    hearWarnings();
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => {
      server.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const inspector = createWebSocketInspector({ url: `ws://127.0.0.1:${port}` });
    const [socket] = await once(server, 'connection');
    const { troupe } = await startTroupe();
    const heard = new Promise<string>((settle) => {
      socket.on('message', (data: Buffer) => {
        if (String(data).includes('"name":"db.0"')) settle(String(data));
      });
    });
    inspectWithStately(troupe, inspector);
    expect(JSON.parse(await heard)).toMatchObject({ type: '@xstate.actor', name: 'db.0' });
    inspector.stop();
  });
});
