import { describe, expect, it, onTestFinished } from 'vitest';
import type { WatchListener } from '../../../actors/files/watcher.ts';
import { createDockerGateway } from '../../../actors/settings/docker-gateway.ts';
import type { DockerFinding } from '../../../src/settings/docker-gateway.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { namesOf, startSettings } from './bench.ts';

const there: DockerFinding = { isThere: true };
const noDaemon: DockerFinding = { isThere: false, lack: 'daemon', said: '' };
const off = '{ "mcpServers": { "db": { "command": "x" } } }';
const on = '{ "mcpServers": { "db": { "command": "x" } }, "mcp": { "dockerGateway": true } }';

/** A settings source with a Docker that answers when the test says so. */
async function start(initial = on) {
  const clock = new VirtualClock();
  const looks: ((finding: DockerFinding) => void)[] = [];
  let lookCount = 0;
  let text = initial;
  let listener: WatchListener | undefined;
  const docker = createDockerGateway({
    clock,
    env: {},
    projectRoot: '/project',
    check: () => {
      lookCount += 1;
      const found = new Promise<DockerFinding>((resolve) => looks.push(resolve));
      return { begun: Promise.resolve(), found };
    },
  });
  const bench = startSettings({
    files: [{ file: '/me.json', scope: 'config' }],
    projectRoot: '/project',
    clock,
    docker,
    readFile: async () => ({ text }),
    checkFolder: async () => undefined,
    watch: (_files, changes) => {
      listener = changes;
      return () => {};
    },
  });
  onTestFinished(() => bench.stop());
  await clock.advanceAndSettle(0);
  return {
    ...bench,
    /** How many looks there were so far. */
    lookCount: () => lookCount,
    async answer(finding: DockerFinding) {
      looks.shift()?.(finding);
      await clock.advanceAndSettle(0);
    },
    async reload(afterMs = 0) {
      await clock.advanceAndSettle(afterMs);
      bench.send({ type: 'settings.reload' });
      await clock.advanceAndSettle(0);
    },
    /** Writes the file again and advances the clock. */
    async edit(content: string, afterMs = 300) {
      text = content;
      await clock.advanceAndSettle(afterMs - 300);
      listener?.changed();
      await clock.advanceAndSettle(300);
    },
    /** The servers of every fact so far. */
    told: () => bench.facts.map(({ settings }) => namesOf(settings)),
  };
}

describe("Docker's gateway in the settings", () => {
  it('does not delay other servers and emits a new fact only when it is absent', async () => {
    const source = await start();
    expect(source.told()).toEqual([['db', 'MCP_DOCKER']]);
    await source.answer(noDaemon);
    expect(source.told()).toEqual([['db', 'MCP_DOCKER'], ['db']]);
    expect(source.facts[1]?.settings.problems).toMatchObject([{ key: 'mcp.dockerGateway' }]);
  });

  it('emits no new fact when Docker confirms the assumption', async () => {
    const source = await start();
    await source.answer(there);
    expect(source.told()).toEqual([['db', 'MCP_DOCKER']]);
  });

  it('is not checked until settings use it', async () => {
    const source = await start(off);
    await source.reload();
    expect(source.lookCount()).toBe(0);
    await source.edit(on);
    expect(source.lookCount()).toBe(1);
    expect(source.told()).toEqual([['db'], ['db', 'MCP_DOCKER']]);
  });

  it('is checked again on a reload and keeps its last state meanwhile', async () => {
    const source = await start();
    await source.answer(noDaemon);
    await source.reload();
    expect(source.lookCount()).toBe(2);
    expect(source.told().at(-1)).toEqual(['db']);
    await source.answer(there);
    expect(source.told().at(-1)).toEqual(['db', 'MCP_DOCKER']);
    expect(source.facts.at(-1)?.settings.problems).toEqual([]);
    await source.reload(1_000);
    expect(source.told().at(-1)).toEqual(['db', 'MCP_DOCKER']);
    await source.answer(noDaemon);
    expect(source.told().at(-1)).toEqual(['db']);
  });

  it('is checked once more when a reload happens during a check', async () => {
    const source = await start();
    await source.reload();
    expect(source.lookCount()).toBe(1);
    await source.answer(noDaemon);
    expect(source.lookCount()).toBe(2);
    await source.answer(there);
    expect(source.told().at(-1)).toEqual(['db', 'MCP_DOCKER']);
    expect(source.lookCount()).toBe(2);
  });

  it('is checked again by an edit only after a minute', async () => {
    const source = await start();
    await source.answer(noDaemon);
    await source.edit(`${on} `, 59_999);
    expect(source.lookCount()).toBe(1);
    await source.edit(`${on}  `);
    expect(source.lookCount()).toBe(2);
  });

  it('stays available after an edit, however long ago it was detected', async () => {
    const source = await start();
    await source.answer(there);
    await source.edit(`${on} `, 86_400_000);
    expect(source.lookCount()).toBe(1);
    expect(source.told()).toEqual([['db', 'MCP_DOCKER']]);
  });

  it('emits no fact once the source is stopped', async () => {
    const source = await start();
    source.stop();
    await source.answer(noDaemon);
    expect(source.told()).toEqual([['db', 'MCP_DOCKER']]);
  });

  it('counts as absent when the check itself fails, without affecting other servers', async () => {
    const clock = new VirtualClock();
    const docker = createDockerGateway({
      clock,
      env: {},
      projectRoot: '/project',
      check: () => {
        throw new Error('a mistake');
      },
    });
    const said = 'cannot be asked (Error: a mistake)';
    expect(await docker.finding()).toEqual({ isThere: false, lack: 'program', said });
  });
});
