/** A login with a real browser, from the command line to the issuer's page and back. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

import { type CliProcess, createPlace, type Place } from '../cli/cli-process.ts';
import { compiledCli } from '../cli/compiled-cli.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import { startBrowser } from './page-harness.ts';

const cli = compiledCli();

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

async function newPage(): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 800, height: 500 } });
  onTestFinished(() => context.close());
  return context.newPage();
}

/** A login that has opened the system's browser, with the page that this shows. */
async function openedLogin(): Promise<{
  issuer: TestIssuer;
  place: Place;
  login: CliProcess;
  page: Page;
}> {
  const issuer = await startTestIssuer({ consent: 'ask' });
  onTestFinished(() => issuer.close());
  const place = createPlace(cli);
  place.writeSettings({ db: { url: issuer.server } });
  const opened = handOver(place.folder);
  const login = place.start('login', 'db', '--config', place.settings);
  const [file = '', content = ''] = (await readFile(opened, 'utf8')).split('\n\n');
  const page = await newPage();
  // As the system's browser shows the file, which the command may remove meanwhile.
  await page.route(`file://${file}`, (route) =>
    route.fulfill({ contentType: 'text/html', body: content }),
  );
  await page.goto(`file://${file}`);
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  return { issuer, place, login, page };
}

/** Puts an opener into the PATH that hands over the file and its content. */
function handOver(folder: string): string {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const opened = path.join(folder, 'opened');
  execFileSync('mkfifo', [opened]);
  const program = path.join(bin, 'xdg-open');
  writeFileSync(program, `#!/bin/sh\n{ printf '%s\\n\\n' "$1"; cat "$1"; } > '${opened}'\n`);
  chmodSync(program, 0o755);
  vi.stubEnv('PATH', `${bin}${path.delimiter}${process.env['PATH']}`);
  return opened;
}

describe('a login in a browser', () => {
  it('leads through the page of the issuer and back to the terminal', async () => {
    const { issuer, place, login, page } = await openedLogin();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Almost done' }).waitFor();
    expect(new URL(page.url()).hostname).toBe('127.0.0.1');
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    expect(login.stdout()).toMatch(/^logged in to db\ndb ready/u);
    const status = await place.run('call', 'db', 'echo', '--config', place.settings);
    expect(status.exitCode).toBe(0);
    expect(issuer.counts).toMatchObject({ codes: 1, calls: 1 });
  });

  it('that the user denies ends the command with the reason', async () => {
    const { issuer, login, page } = await openedLogin();
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Login refused' }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await login.ended).toMatchObject({ exitCode: 11 });
    expect(login.stderr()).toContain('access_denied');
    expect(issuer.counts.codes).toBe(0);
  });

  it('is neither ended nor taken over by pages of other origins', async () => {
    const { issuer, login, page } = await openedLogin();
    const callback = new URL(new URL(page.url()).searchParams.get('redirect_uri') ?? '');
    const forged = new URL('?code=forged&state=forged', callback);
    const denied = new URL('?error=access_denied&state=forged', callback);
    const stranger = await newPage();
    await stranger.goto(await strangersPage());
    // What a page of another origin can send: without reading, with reading, and as a picture.
    const sent = await stranger.evaluate(
      async (urls) => {
        const outcomes: string[] = [];
        for (const url of urls) {
          const blind = await fetch(url, { mode: 'no-cors' }).then(({ type }) => type, String);
          const read = await fetch(url).then(
            ({ status }) => `read ${status}`,
            () => 'not read',
          );
          const picture = await new Promise<string>((resolve) => {
            const image = new (globalThis as unknown as PageGlobals).Image();
            image.onerror = () => resolve('no picture');
            image.onload = () => resolve('picture');
            image.src = url;
          });
          outcomes.push(`${blind}, ${read}, ${picture}`);
        }
        return outcomes;
      },
      [forged.href, denied.href],
    );
    expect(sent).toEqual(Array(2).fill('opaque, not read, no picture'));
    await stranger.goto(forged.href);
    await stranger.getByRole('heading', { name: 'No such login' }).waitFor();
    await page.getByRole('button', { name: 'Allow' }).click();
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    expect(issuer.counts).toMatchObject({ codes: 1 });
    expect(issuer.seenAt('/token').flatMap(({ form }) => form.getAll('code'))).not.toContain(
      'forged',
    );
  });
});

/** What scripts of a page have. */
interface PageGlobals {
  readonly Image: new () => { src: string; onload: () => void; onerror: () => void };
}

/** A page of another origin. */
async function strangersPage(): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Stranger</title>');
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}
