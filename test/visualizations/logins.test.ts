import { describe, expect, it } from 'vitest';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import type { PicturedActor } from '../../src/domain/host/inspection.ts';
import { canvasOf } from '../../src/recorder/picture.ts';
import { pathOf, statesOf } from '../../src/testing/chart-parts.ts';
import {
  helpFor,
  isAwaited,
  isInUse,
  isUnderWay,
  loginContextOf,
  loginOf,
  loginState,
  openable,
  serversOf,
} from '../../visualizations/page/model/logins.ts';
import { statusOf } from './samples.ts';

const login = (...leaves: readonly string[]): PicturedActor => ({
  actor: 'x:9',
  id: 'login.0',
  parent: 'x:0',
  machine: 'authorization',
  life: 'active',
  leaves,
  timers: [],
  login: { origin: 'https://db.example', servers: ['db', 'gone'] },
});
const worldWith = (actor: PicturedActor, state: 'ready' | 'authRequired' = 'ready') =>
  canvasOf({ n: 1, t: 1, actors: [actor], servers: [statusOf('db', { state })] });

describe("a login's state", () => {
  it('has a text of its own wherever a login can stay', () => {
    const resting = statesOf(authorizationMachine).filter(
      ({ type, always }) => type === 'atomic' && always === undefined,
    );
    const texts = resting.map((state) => loginState(login(pathOf(state))));
    const named = resting.map(({ key }) => key.replace(/([a-z])([A-Z])/gu, '$1 $2').toLowerCase());
    const unnamed = texts.filter(
      ({ text, tone }, place) => text === named[place] && tone === 'busy',
    );
    expect(resting.length).toBeGreaterThan(10);
    expect(unnamed).toEqual([]);
    expect(loginState(login('signingIn.askingTwice'))).toEqual({
      text: 'asking twice',
      tone: 'busy',
    });
  });

  it('shows whether the user has to act', () => {
    expect(isUnderWay(login('signingIn.exchanging'))).toBe(true);
    expect(isAwaited(login('signingIn.awaitingUser'))).toBe(true);
    expect(isAwaited(login('signingIn.exchanging'))).toBe(false);
    expect(isUnderWay(login('authorized'))).toBe(false);
  });

  it('comes with help for each failure', () => {
    expect(helpFor('denied')).toContain('Log in again');
    expect(helpFor('toString')).toBeUndefined();
  });
});

describe("a server's login", () => {
  it('is found by the servers that share it', () => {
    const world = worldWith(login('authorized'));
    expect(loginOf(world, 'db')?.actor).toBe('x:9');
    expect(loginOf(world, 'other')).toBeUndefined();
    expect(serversOf(world, login('authorized')).map(({ name }) => name)).toEqual(['db']);
  });

  it('is of interest once it is used or required', () => {
    const out = login('unauthorized.signedOut');
    expect(isInUse(worldWith(out), out)).toBe(false);
    expect(isInUse(worldWith(out, 'authRequired'), out)).toBe(true);
    expect(isInUse(worldWith(login('authorized')), login('authorized'))).toBe(true);
  });
});

describe("a login's recorded context", () => {
  it('is read without trust in the journal', () => {
    expect(loginContextOf({})).toBeUndefined();
    expect(loginContextOf({ token: null, failure: { kind: 'denied', message: 'No.' } })).toEqual({
      needsUser: true,
      token: null,
      wanted: [],
      attempt: 0,
      failure: { kind: 'denied', message: 'No.' },
    });
    const token = {
      generation: 2,
      issuer: 'https://i.example',
      scopes: ['a', 7],
      expiresAtMs: 1e99,
    };
    expect(loginContextOf({ token, wanted: 'x', needsUser: false })).toMatchObject({
      needsUser: false,
      token: { scopes: ['a', '7'], expiresAtMs: null, isRefreshable: false },
      wanted: [],
    });
  });
});

describe("a login's address", () => {
  it.each([
    'https://login.example/authorize?state=x',
    'http://127.0.0.1:8080/authorize',
    'http://localhost/authorize',
  ])('is opened: %s', (address) => {
    expect(openable(address)?.href).toBe(address);
  });

  it.each([
    'http://login.example/authorize',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'https://user:secret@login.example/',
    'vscode://open',
    'no address',
  ])('is not opened: %s', (address) => {
    expect(openable(address)).toBeUndefined();
  });
});
