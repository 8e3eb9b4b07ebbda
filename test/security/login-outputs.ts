/** Everything that a troupe shows of itself, and the secrets of a test issuer to search it for. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { inspect } from 'node:util';
import { onTestFinished } from 'vitest';
import { troupeEventNames } from '../../src/domain/host/event.ts';
import { createTroupe, type Troupe, type TroupeEventName } from '../../src/index.ts';
import { startInspector } from '../../visualizations/server/inspector-server.ts';
import { secretsIn } from '../support/issuer/echo.ts';
import type { TestIssuer } from '../support/issuer/issuer.ts';
import { recordTelemetry } from '../support/telemetry-recorder.ts';
import { Browser } from '../visualizations/server/browser.ts';

export type Texts = Readonly<Record<string, string>>;

export interface WatchedTroupe {
  readonly troupe: Troupe;
  /** The addresses that the user was to open. */
  readonly addresses: readonly string[];
  /** Notes a failure as its caller sees it. */
  readonly note: (error: unknown) => void;
  /** All that it has shown; stops it. */
  readonly shown: () => Promise<Texts>;
}

/** A troupe that records, measures and shows everything, whose user consents to each login. */
export function watchedTroupe(
  issuer: TestIssuer,
  servers: Readonly<Record<string, object>>,
  { stateDir, env = {} }: { readonly stateDir: string; readonly env?: Record<string, string> },
): WatchedTroupe {
  const telemetry = recordTelemetry();
  const troupe = createTroupe({
    bare: true,
    stateDir,
    env,
    telemetry: telemetry.providers,
    inspect: { journal: path.join(stateDir, 'journal.ndjson') },
    settings: { mcp: { commandValues: true }, mcpServers: servers },
  });
  onTestFinished(() => troupe.stop());
  const events: unknown[] = [];
  const errors: unknown[] = [];
  const addresses: string[] = [];
  const follow = (name: TroupeEventName): void => {
    if (name !== 'auth.started') troupe.on(name, (event) => events.push([name, event]));
  };
  for (const name of troupeEventNames) follow(name);
  troupe.on('auth.started', ({ url, userCode }) => {
    addresses.push(url);
    if (userCode !== undefined) return issuer.decide(userCode, 'allowed');
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  return {
    troupe,
    addresses,
    note: (error) => void errors.push(error),
    async shown() {
      const names = Object.keys(servers);
      const page = await pageOf(troupe);
      const seen = {
        status: JSON.stringify([troupe.snapshot(), names.map((name) => troupe.status(name))]),
        explanations: JSON.stringify(names.map((name) => troupe.explain(name))),
        logs: JSON.stringify(names.map((name) => troupe.logs(name))),
        accounts: JSON.stringify(await troupe.accounts()),
        plan: JSON.stringify(await troupe.plan()),
        events: JSON.stringify(events),
        errors: errors.map((error) => wordsOf(error)).join('\n'),
        ...page,
      };
      await troupe.stop();
      return {
        ...seen,
        telemetry: await telemetry.text(),
        files: textsBelow(stateDir, ['credentials']),
      };
    },
  };
}

/** An error in every form in which a program prints it, with its causes. */
function wordsOf(error: unknown): string {
  const all = inspect(error, { depth: 20, maxStringLength: null, maxArrayLength: null });
  return `${String(error)}\n${JSON.stringify(error)}\n${all}`;
}

/** What the page of the troupe can ask for. */
async function pageOf(troupe: Troupe): Promise<Texts> {
  const { inspection: source } = troupe;
  const inspector = await startInspector({ source, mode: 'live', title: '/project' });
  try {
    const browser = await Browser.of(inspector);
    const of = async (place: string): Promise<string> => (await browser.get(place)).body;
    const actors = source.picture()?.actors ?? [];
    const contexts = actors.map(({ actor }) => of(`/api/actors/${actor}/context`));
    const stream = await browser.stream(`/api/stream?from=${source.first}`);
    const streamed = await stream.upTo(source.last);
    stream.close();
    return {
      'page: html': await of('/'),
      'page: records': await of('/api/records?from=1'),
      'page: stream': JSON.stringify(streamed),
      'page: picture': await of('/api/picture'),
      'page: journal': await of('/api/journal'),
      'page: contexts': (await Promise.all(contexts)).join('\n'),
    };
  } finally {
    inspector.close();
  }
}

/** All files below a folder, except in these folders. */
export function textsBelow(folder: string, except: readonly string[] = []): string {
  if (!existsSync(folder)) return '';
  const names = readdirSync(folder).filter((name) => !except.includes(name));
  return names
    .map((name) => {
      const file = path.join(folder, name);
      const { isDirectory, isFile } = kindOf(file);
      if (isDirectory) return textsBelow(file);
      return isFile ? readFileSync(file, 'utf8') : '';
    })
    .join('\n');
}

function kindOf(file: string): { readonly isDirectory: boolean; readonly isFile: boolean } {
  // A lock may be gone meanwhile.
  if (!existsSync(file)) return { isDirectory: false, isFile: false };
  const stats = statSync(file);
  return { isDirectory: stats.isDirectory(), isFile: stats.isFile() };
}

/** The secrets that the issuer has seen and given, and those on disk; by value. */
export function secretsOf(issuer: TestIssuer, stateDir: string): ReadonlySet<string> {
  const kept = textsBelow(path.join(stateDir, 'credentials'));
  const stored = [...kept.matchAll(/"(?:\w+Token|\w+_token|client_secret|d)":"([^"]+)"/gu)];
  const seen = issuer.seen.flatMap((each) => secretsIn(each));
  const all = [...seen, ...stored.map(([, value = '']) => value)];
  return new Set(all.filter((value) => value.length > 3));
}

/** Where a secret occurs, with the text before it. */
export function leaksIn(texts: Texts, secrets: Iterable<string>): readonly string[] {
  return [...secrets].flatMap((secret) =>
    Object.entries(texts).flatMap(([place, text]) => {
      const at = text.indexOf(secret);
      return at === -1 ? [] : [`${place}: ${text.slice(Math.max(0, at - 160), at)}<${secret}>`];
    }),
  );
}
