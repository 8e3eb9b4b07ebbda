/** Questions of a real server during a call without a running troupe and without a terminal. */

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

import { createPlace, type Place } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';

const everything = fileURLToPath(
  new URL(
    '../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
);
const program = compiledCli();
const limit = { timeout: 180_000 };

async function asking() {
  const place = createPlace(program);
  place.writeSettings({
    db: {
      command: process.execPath,
      args: [everything, 'stdio'],
      env: { [place.mark]: '1' },
    },
  });
  return askingIn(place);
}

async function askingIn(place: Place) {
  const call = place.start('call', 'db', 'trigger-elicitation-request', '--config', place.settings);
  const [, id = ''] = await call.noted(/answer: troupe answer (\d+\.q\d+) name=….*\n.*waiting/u);
  return { place, call, id };
}

it('can be answered by the printed command, once it fits', limit, async () => {
  const { place, call, id } = await asking();
  expect(id).toBe(`${call.child.pid}.q1`);
  const { stdout } = await place.run('questions', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ questions: [{ id, server: 'db', kind: 'form' }] });
  expect(await place.run('answer', id, 'integer=x')).toMatchObject({ exitCode: 2 });
  expect(await place.run('answer', id, 'name=Ada', 'integer=7')).toMatchObject({
    exitCode: 0,
    stdout: `answered ${id} of db\n`,
  });
  expect(await call.ended).toMatchObject({ exitCode: 0 });
  expect(call.stdout()).toContain('- Name: Ada');
  expect(call.stdout()).toContain('- Favorite Integer: 7');
  const late = await place.run('answer', id, 'decline');
  expect(late).toMatchObject({ exitCode: 2 });
  expect(late.stderr).toContain('no call with the pid');
  expect(await place.run('questions')).toMatchObject({ exitCode: 3 });
  await place.isEmpty();
});

it('ends with Ctrl-C, which the server does not take for an answer', limit, async () => {
  const { place, call } = await asking();
  call.child.kill('SIGINT');
  expect(await call.ended).toMatchObject({ exitCode: 130 });
  expect(call.stdout()).toBe('');
  expect(await place.run('questions')).toMatchObject({ exitCode: 3 });
  await place.isEmpty();
});

it('removes the socket of a killed call at the next start, and only that', limit, async () => {
  const { place, call: killed } = await asking();
  const { call, id } = await askingIn(place);
  const folder = path.join(place.folder, 'state', 'run');
  const sockets = () => readdirSync(folder).filter((name) => name.endsWith('.sock')).length;
  expect(sockets()).toBe(2);
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(sockets()).toBe(2);
  await place.run('tools', 'db', '--config', place.settings);
  expect(sockets()).toBe(1);
  expect(await place.run('answer', id, 'decline')).toMatchObject({ exitCode: 0 });
  await call.ended;
  expect(sockets()).toBe(0);
});
