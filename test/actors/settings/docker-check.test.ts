import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';
import { createProcessKeeper } from '../../../actors/processes/started-processes.ts';
import { createDockerGateway } from '../../../actors/settings/docker-gateway.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { type DockerFinding, dockerAnswerMs } from '../../../src/settings/docker-gateway.ts';
import { type DockerMode, standInDocker } from '../../support/stand-in-docker.ts';

const projectRoot = process.cwd();
const infoWords = 'docker info --format {{.ServerVersion}}';

/** Real time, but a question to Docker is late when the test says so. */
function clockByHand(): Clock & { strike(): void; readonly answered: Promise<void> } {
  const held = new Map<object, () => void>();
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  return {
    ...realClock,
    setTimeout(callback, delayMs) {
      if (delayMs !== dockerAnswerMs) return realClock.setTimeout(callback, delayMs);
      const handle = {};
      held.set(handle, callback);
      return handle;
    },
    clearTimeout(handle) {
      if (held.delete(handle as object)) answer();
      else realClock.clearTimeout(handle);
    },
    /** One question has its answer, so that its time is no longer measured. */
    answered,
    strike() {
      for (const callback of [...held.values()]) callback();
    },
  };
}

async function start(mode: DockerMode = 'ok') {
  const docker = await standInDocker(mode);
  const clock = clockByHand();
  const gateway = createDockerGateway({ clock, env: docker.env, projectRoot });
  return { docker, clock, gateway };
}

/** Asks, waits for the end of the look, and asks again. */
async function look(mode: DockerMode): Promise<DockerFinding | undefined> {
  const { docker, gateway } = await start(mode);
  await gateway.finding();
  await gateway.settled();
  await docker.gone();
  return gateway.finding();
}

describe("the check for Docker's gateway", () => {
  it('detects it when Docker knows the command and a daemon responds', async () => {
    const { docker, gateway } = await start();
    expect(await gateway.finding()).toBeUndefined();
    await gateway.settled();
    expect(await gateway.finding()).toEqual({ isThere: true });
    await docker.ran(2);
    expect([...docker.runs].sort()).toEqual(['info --format {{.ServerVersion}}', 'mcp --help']);
    await docker.gone();
  });

  it.each<[DockerMode, DockerFinding]>([
    ['noCommand', { isThere: false, lack: 'command', said: '' }],
    [
      'noCommandOld',
      { isThere: false, lack: 'command', said: "docker: 'mcp' is not a docker command." },
    ],
    [
      'noDaemon',
      {
        isThere: false,
        lack: 'daemon',
        said: 'Cannot connect to the Docker daemon at unix:///nowhere. Is it running?',
      },
    ],
    [
      'noDaemonOld',
      {
        isThere: false,
        lack: 'daemon',
        said: 'Cannot connect to the Docker daemon at unix:///nowhere. Is it running?',
      },
    ],
    ['garbage', { isThere: false, lack: 'sense', said: 'docker mcp --help' }],
    ['noVersion', { isThere: false, lack: 'sense', said: infoWords }],
  ])('reports what Docker lacks: %s', async (mode, finding) => {
    expect(await look(mode)).toEqual(finding);
  });

  it('reports a missing program at the first request', async () => {
    const env = { PATH: path.join(projectRoot, 'no-such-folder') };
    const gateway = createDockerGateway({ clock: realClock, env, projectRoot });
    const absent = { isThere: false, lack: 'program', said: 'was not found on PATH' };
    expect(await gateway.finding()).toEqual(absent);
  });

  it('reports the error of a program that cannot be run', async () => {
    const { docker, gateway } = await start();
    chmodSync(path.join(docker.folder, 'docker'), 0o644);
    const finding = await gateway.finding();
    expect(finding).toMatchObject({ lack: 'program', said: 'cannot be run (EACCES)' });
  });

  it('ends a Docker process that times out, along with its children', async () => {
    const { docker, clock, gateway } = await start('hangs');
    expect(await gateway.finding()).toBeUndefined();
    await docker.ran(4);
    expect([...docker.runs].sort().slice(0, 2)).toEqual(['helper', 'helper']);

    clock.strike();
    await gateway.settled();
    const late = { isThere: false, lack: 'time', said: 'docker mcp --help' };
    expect(await gateway.finding()).toEqual(late);
    await docker.gone();
  });

  it('ends a daemon check that times out, even if the command is known', async () => {
    const { docker, clock, gateway } = await start('hangingDaemon');
    await gateway.finding();
    await docker.ran(3);
    await clock.answered;
    clock.strike();
    await gateway.settled();
    expect(await gateway.finding()).toEqual({ isThere: false, lack: 'time', said: infoWords });
    await docker.gone();
  });

  it('does not wait for the daemon when the command is missing', async () => {
    const { docker, gateway } = await start();
    writeFileSync(
      path.join(docker.folder, 'docker'),
      '#!/bin/sh\n[ "$1" = info ] && exec /bin/sleep 20\nexit 1\n',
    );
    await gateway.finding();
    await gateway.settled();
    expect(await gateway.finding()).toMatchObject({ lack: 'command' });
  });

  it('ends running processes without a result when it is aborted', async () => {
    const { docker, gateway } = await start('hangs');
    let newsCount = 0;
    gateway.listen(() => {
      newsCount += 1;
    });
    await gateway.finding();
    await docker.ran(4);
    gateway.dispose();
    await gateway.settled();
    await docker.gone();
    expect(newsCount).toBe(0);
  });

  it('registers its processes with the keeper', async () => {
    const docker = await standInDocker('hangs');
    const keeper = createProcessKeeper({
      clock: realClock,
      wallNow: Date.now,
      onProblems: () => {},
    });
    const clock = clockByHand();
    const processes = () => keeper;
    const gateway = createDockerGateway({ clock, env: docker.env, projectRoot, processes });
    await gateway.finding();
    expect(keeper?.guardianPid).toBeTypeOf('number');
    await docker.ran(4);
    clock.strike();
    await gateway.settled();
    await docker.gone();
    await keeper?.close();
    expect(keeper?.guardianPid).toBeUndefined();
  });

  it('passes on only the variables that configure Docker', () => {
    const env = { PATH: '/bin', DOCKER_HOST: 'x', DOCKER_CONTEXT: '', DOCKERS: '1', AWS_KEY: '2' };
    const gateway = createDockerGateway({
      clock: realClock,
      env: { ...env, XDG_RUNTIME_DIR: '/run/user/1', DOCKER_CONFIG: '/c' },
      projectRoot,
    });
    expect(gateway.variables).toEqual(['DOCKER_CONFIG', 'DOCKER_HOST', 'XDG_RUNTIME_DIR']);
  });
});
