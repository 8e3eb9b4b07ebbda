/** Resources and prompts, with the real command line and a real server. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createPlace } from './cli-process.ts';
import { compiledCli } from './compiled-cli.ts';

const cli = compiledCli();
const everything = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
);
const features = 'demo://resource/static/document/features.md';
const blob = 'demo://resource/dynamic/blob/1';

// Each starts several processes, one after another, a second each on a busy machine.
describe('resources and prompts', () => {
  it('are listed, read and filled in by the running troupe', async () => {
    const place = createPlace(cli);
    place.writeSettings({
      docs: { command: process.execPath, args: [everything, 'stdio'], env: { [place.mark]: '1' } },
    });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/docs ready/);
    const listed = await place.run('resources', 'docs', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject({
      resources: expect.arrayContaining([
        expect.objectContaining({ server: 'docs', uri: features }),
      ]) as unknown,
      resourceTemplates: expect.arrayContaining([
        expect.objectContaining({ uriTemplate: 'demo://resource/dynamic/blob/{resourceId}' }),
      ]) as unknown,
    });
    expect((await place.run('resources')).stdout).toMatch(/^docs +demo:\/\/resource\/static/m);
    const read = await place.run('read', 'docs', features);
    expect(read).toMatchObject({ exitCode: 0, stderr: '' });
    expect(read.stdout).toMatch(/^# Everything Server - Features/);
    const unknown = await place.run('read', 'docs', 'nope://x', '--json');
    expect(unknown.exitCode).toBe(14);
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      error: {
        server: 'docs',
        message: expect.stringMatching(/List its resources: troupe resources docs$/) as unknown,
      },
    });
    expect((await place.run('prompts', 'docs')).stdout).toContain(
      'args-prompt(city, state?) — A prompt with two arguments',
    );
    const filled = await place.run('prompt', 'docs', 'args-prompt', 'city=Paris');
    expect(filled).toMatchObject({ exitCode: 0, stdout: "user:\nWhat's weather in Paris?\n" });
    const typo = await place.run('prompt', 'docs', 'args-promt', 'city=Paris');
    expect(typo.stderr).toContain('did you mean args-prompt?');
    const missing = await place.run('prompt', 'docs', 'args-prompt');
    expect(missing).toMatchObject({ exitCode: 2, stderr: 'troupe: city is missing; add city=…\n' });
    up.child.kill('SIGTERM');
    await up.ended;
    await place.isEmpty();
  });

  it('are used without a running troupe, and binary contents are written to a file', async () => {
    const place = createPlace(cli);
    const stdio = ['--stdio', `${process.execPath} ${everything} stdio`];
    const file = path.join(place.folder, 'out.bin');
    const written = await place.run('read', blob, ...stdio, '--output', file);
    expect(written).toMatchObject({ exitCode: 0, stdout: '' });
    expect(written.stderr).toContain(`bytes written to ${file}`);
    expect(readFileSync(file, 'utf8')).toMatch(/^Resource 1: This is a base64 blob/);
    // A pipe gets the bytes themselves.
    expect((await place.run('read', blob, ...stdio)).stdout).toMatch(/^Resource 1: This is/);
    const nowhere = await place.run('read', blob, ...stdio, '--output', '/nowhere/x');
    expect(nowhere).toMatchObject({ exitCode: 2 });
    expect(nowhere.stderr).toContain('cannot be written (ENOENT)');
    const listed = await place.run('resources', ...stdio);
    expect(listed.stdout).toContain(features);
  });
});
