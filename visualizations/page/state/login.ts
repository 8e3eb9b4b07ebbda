/** Logging in from the page. Addresses of logins stay in the script: they never become part of the document. */

import type { ActorKey, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { isAwaited, isUnderWay, loginOf, openable } from '../model/logins.ts';
import { shownLine } from '../model/shown-text.ts';
import { command, messageOf } from './api.ts';
import { change, current, type LoginAddress, toast } from './store.ts';

interface BegunLogin {
  readonly url?: string;
  readonly after?: number;
  /** What the user should know before logging in. */
  readonly note?: string;
}

/** Starts a login and opens the issuer's page in a new tab. */
export async function logIn(server: string): Promise<void> {
  const name = shownLine(server, 80);
  try {
    const { url, after, note } = await command<BegunLogin>('login', { server });
    if (url === undefined || after === undefined) return toast('good', `Logged in to ${name}.`);
    const address = openable(url);
    if (address === undefined) {
      await command('cancelLogin', { server });
      return toast('bad', `The login to ${name} has an address that cannot be opened safely.`);
    }
    const login = loginOf(current().live, server);
    // Its records may arrive later than this answer.
    const isOver = login === undefined || (current().live.n > after && !isUnderWay(login));
    if (!isOver) keepAddress(login.actor, { url: address, after, note });
    // Later than some seconds after the click, a browser would block it.
    if (navigator.userActivation.isActive) openAddress(address);
    else toast('good', `Press “Open the login page” to log in to ${name}.`);
  } catch (error) {
    toast('bad', messageOf(error));
  }
}

export async function cancelLogin(server: string): Promise<void> {
  await act('cancelLogin', { server }, 'The login was cancelled.');
}

export async function logOut(server: string): Promise<void> {
  await act('logout', { server }, 'Logged out.');
}

/** Passes on the address to which a browser on another machine was redirected. */
export async function finishLogin(server: string, url: string): Promise<void> {
  await act('finishLogin', { server, url }, 'Passed on to the login.');
}

async function act(name: string, args: Record<string, unknown>, done: string): Promise<void> {
  try {
    await command(name, args);
    toast('good', done);
  } catch (error) {
    toast('bad', messageOf(error));
  }
}

/** The issuer's page gets no reference to this page. */
export function openAddress({ href }: URL): void {
  window.open(href, '_blank', 'noopener,noreferrer');
}

/** An address belongs to one wait for the browser. */
export function forgetAddress(record: InspectionRecord): void {
  if (record.kind !== 'state') return;
  const { addresses } = current();
  const known = addresses.get(record.actor);
  if (known === undefined || record.n <= known.after || isAwaited(record)) return;
  change({ addresses: new Map([...addresses].filter(([actor]) => actor !== record.actor)) });
}

function keepAddress(login: ActorKey, address: LoginAddress): void {
  change({ addresses: new Map([...current().addresses, [login, address]]) });
}
