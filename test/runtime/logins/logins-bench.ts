/** Whole troupes at a real issuer on this machine, whose users consent to each login. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';

import {
  createTroupe,
  type ServerState,
  type Troupe,
  type TroupeOptions,
} from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';

export async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

export function stateFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-login-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export type Entry = Readonly<Record<string, unknown>>;

/** A troupe whose user consents to each login in a browser. */
export function troupeWith(
  issuer: TestIssuer,
  servers: Readonly<Record<string, Entry>> = { db: {} },
  options: TroupeOptions = {},
): Troupe {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => [name, { url: issuer.server, ...entry }]),
  );
  const troupe = createTroupe({ bare: true, settings: { mcpServers }, ...options });
  onTestFinished(() => troupe.stop());
  troupe.on('auth.started', ({ url }) => {
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  return troupe;
}

export const waits = { timeoutMs: 10_000 };

/** The machine's time, but so much later by the wall clock. */
export function later(ms: number) {
  return { clock: { ...promptClock, wallNow: () => Date.now() + ms } };
}

/** Resolves when a server next enters a state. */
export function nextState(troupe: Troupe, server: string, state: ServerState): Promise<void> {
  return new Promise((resolve) => {
    const off = troupe.on('status.changed', ({ status }) => {
      if (status.name !== server || status.state !== state) return;
      off();
      resolve();
    });
  });
}
