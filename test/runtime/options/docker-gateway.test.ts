/** The gateway of Docker as one of a troupe's servers: in virtual time, and with a real stand-in of Docker. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';
import { previewPlan } from '../../../src/runtime/previews/preview-plan.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import { type DockerMode, standInDocker } from '../../support/stand-in-docker.ts';
import { call, servers, stageOf } from '../stage.ts';

const name = 'MCP_DOCKER';
const wanted = servers({}, { dockerGateway: true });
const minute = 60_000;

describe("Docker's gateway in a troupe", () => {
  it('CB-02 stays dormant until its first call', async () => {
    const stage = await stageOf({ settings: wanted });
    expect(stage.stateOf(name)).toBe('dormant');
    expect(stage.sessions.scripts).toEqual([]);

    const waiting = call(stage, name);
    await stage.settle();
    expect(stage.stateOf(name)).toBe('ready');
    expect(waiting.state).toBe('pending');
    expect(stage.troupe.tools().map(({ server }) => server)).toEqual([name]);
  });

  it('CB-03 stops after five idle minutes and keeps its tools listed', async () => {
    const stage = await stageOf({ settings: wanted });
    stage.troupe.send({ type: 'server.start', server: name });
    await stage.settle();
    await stage.advance(5 * minute - 1);
    expect(stage.stateOf(name)).toBe('ready');
    await stage.advance(1_001);
    expect(stage.stateOf(name)).toBe('dormant');
    expect(stage.troupe.tools()).toMatchObject([{ server: name, catalog: 'deferred' }]);
  });

  it('CB-33 does not stop during a long call', async () => {
    const stage = await stageOf({ settings: wanted });
    const waiting = call(stage, name, { timeoutMs: 9 * minute });
    await stage.settle();
    await stage.advance(8 * minute);
    expect(stage.stateOf(name)).toBe('ready');
    expect(waiting.state).toBe('pending');
  });

  it('names its source in its status and in the plan', async () => {
    const stage = await stageOf({ settings: servers({}) });
    stage.files.isWatched = false;
    await stage.apply(wanted);
    const why = 'wanted by mcp.dockerGateway, not running yet';
    expect(await stage.troupe.plan()).toEqual([{ server: name, step: 'spawn', why }]);
    stage.troupe.send({ type: 'settings.reload' });
    await stage.settle();
    expect(stage.troupe.status(name)?.source).toMatchObject({
      key: 'mcp.dockerGateway',
      scope: 'config',
    });
  });

  it('obeys the allow and exclude lists and the launch list', async () => {
    const excluded = await stageOf({
      settings: servers({}, { dockerGateway: true, excluded: [name] }),
    });
    expect(excluded.stateOf(name)).toBe('blocked.excluded');
    const bound = await stageOf({ settings: wanted, allow: ['db'] });
    expect(bound.stateOf(name)).toBe('blocked.notAllowed');
  });
});

async function start(mode: DockerMode, mcpServers: Readonly<Record<string, unknown>> = {}) {
  const docker = await standInDocker(mode);
  const options = { settings: { mcpServers, mcp: { dockerGateway: true } }, env: docker.env };
  const troupe = createTroupe(options);
  onTestFinished(() => troupe.stop());
  return { docker, options, troupe };
}

/** Settles when it is so: now, or after any news of the troupe. */
function until(troupe: Troupe, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return;
      for (const end of ends) end();
      resolve();
    };
    const ends = [troupe.on('settings.invalid', look), troupe.on('status.changed', look)];
    look();
  });
}

const isThere = (troupe: Troupe): Promise<void> =>
  until(troupe, () => troupe.status(name) !== undefined);

const isAbsent = (troupe: Troupe): Promise<void> =>
  until(troupe, () =>
    messagesOf(troupe).some((message) => message.includes("Docker's daemon does not answer")),
  );

const messagesOf = (troupe: Troupe): readonly string[] =>
  troupe.snapshot().troupe.problems.map(({ message }) => message);

describe("an installed Docker's gateway", () => {
  it('starts for a call, answers it and leaves nothing behind', async () => {
    const { docker, troupe } = await start('ok');
    await troupe.ready();
    expect(troupe.status(name)).toMatchObject({ state: 'dormant', transport: 'stdio' });
    const { result } = await troupe.callServerTool(name, 'echo', { text: 'hi' });
    expect(result.content).toEqual([{ type: 'text', text: '{"text":"hi"}' }]);
    expect(docker.runs).toContain('mcp gateway run');
    await troupe.stop();
    await docker.gone();
  });

  it('appears and disappears with its daemon on reload', async () => {
    const { docker, options, troupe } = await start('noDaemon');
    await isAbsent(troupe);
    expect(troupe.status(name)).toBeUndefined();
    expect(await previewPlan(options)).toMatchObject({ steps: [] });
    await expect(troupe.callServerTool(name, 'echo')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(
        /^Server MCP_DOCKER is not available: Docker's daemon does not answer .*start Docker/,
      ) as unknown,
    });

    docker.become('ok');
    troupe.send({ type: 'settings.reload' });
    await isThere(troupe);
    expect(messagesOf(troupe)).toEqual([]);
    await troupe.callServerTool(name, 'echo');
    expect(await previewPlan(options)).toMatchObject({ steps: [{ server: name, step: 'spawn' }] });

    docker.become('noDaemon');
    troupe.send({ type: 'settings.reload' });
    await isAbsent(troupe);
    await docker.gone();
    expect(troupe.tools()).toEqual([]);
  });

  it('delays nothing when Docker hangs, and ends it when the troupe stops', async () => {
    const server = { command: process.execPath, args: [serverOf()] };
    const { docker, troupe } = await start('hangs', { db: server });
    await troupe.waitFor('db', 'ready');
    await docker.ran(4);
    expect(troupe.snapshot().troupe.problems).toEqual([]);
    await troupe.stop();
    await docker.gone();
  });
});

function serverOf(): string {
  return new URL('../../fixtures/stdio-server.mjs', import.meta.url).pathname;
}
