import type { Account } from '../../domain/authorization.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { wideTokenNote } from '../../policies/text/wide-token.ts';
import { createPrompt } from '../ask/terminal.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { parseText } from '../flag-values.ts';
import { openPage } from '../run/address-file.ts';
import type { UsedTroupe } from '../run/used-troupe.ts';
import { withTroupe } from '../run/with-troupe.ts';
import { statusLine } from '../show/status-lines.ts';

/** Long enough to find a password; the policy `auth.loginTimeoutMs` ends the login earlier. */
const loginTimeoutMs = 900_000;
const extraMs = 2_000;
const longestLine = 500;

interface LoginFlags {
  /** False for `--no-browser`. */
  readonly browser?: boolean;
  readonly device?: true;
}

type Started = TroupeEvents['auth.started'];

/** `login`: logs in to a remote server. */
const loginCommand: CommandDefinition<LoginFlags> = {
  usage: 'login <server>',
  aliases: ['auth'],
  summary: 'log in to a remote server in the browser',
  details:
    'Waits until the server has started with the login. Servers with the same address and account share it. Without a browser on this machine, use --device, which prints a short code to enter on any other device, if the issuer offers that; or --no-browser, which prints the address to open anywhere, and reads the address to which that browser was redirected.',
  example: 'troupe login db',
  options: [
    flag('--no-browser', 'print the address instead of opening a browser'),
    flag('--device', 'log in on another device, with a code'),
  ],
  run: (session, [server = ''], { browser = true, device = false }) =>
    withTroupe(session, server, async (troupe) => {
      const { launch, output } = session;
      const timeoutMs = launch.timeoutMs ?? loginTimeoutMs;
      const over = new AbortController();
      let shown: string | undefined;
      troupe.follow(['auth.started'], (event) => {
        if (event.type !== 'auth.started' || event.server !== server) return;
        // The address is announced again to a caller that joins the login.
        if (event.url === shown) return;
        shown = event.url;
        if (output.json) return output.documentLine(event);
        if (event.resource !== undefined) output.note(wideTokenNote(server, event.resource));
        if (event.userCode !== undefined) output.note(codeText(event));
        else void showLogin(session, troupe, event, browser, over.signal);
      });
      try {
        const { status } = await troupe.request(
          'login',
          { server, timeoutMs, device },
          timeoutMs + extraMs,
        );
        if (output.json) output.documentLine({ status });
        output.lines([`logged in to ${server}`, statusLine(status, Date.now())]);
        return 0;
      } finally {
        over.abort();
      }
    }),
};

function codeText({
  server,
  url,
  verificationUri = url,
  userCode = '',
  expiresAt,
}: Started): string {
  const lines = [
    `open this address on any device and log in to ${server}:`,
    verificationUri,
    `and enter the code ${userCode} (valid until ${new Date(expiresAt).toLocaleTimeString()})`,
    ...(url === verificationUri ? [] : [`or open this address, which has the code:\n${url}`]),
  ];
  return lines.join('\n');
}

/** Opens or prints the address, and reads the one to which another machine's browser was redirected. */
async function showLogin(
  session: CliSession,
  troupe: UsedTroupe,
  { server, url, offersDevice }: Started,
  isBrowserWanted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { output } = session;
  if (isBrowserWanted && (await openPage(session, url, signal))) {
    // The program that opens a browser may start and still find none.
    output.note(`log in to ${server} in the browser; if none appears, open this address:\n${url}`);
    return;
  }
  output.note(`open this address in a browser and log in to ${server}:\n${url}`);
  if (offersDevice === true)
    output.note(`or run troupe login ${server} --device: it shows a code, and nothing is pasted`);
  await readRedirect(session, troupe, server, signal);
}

/** Asks until the address belongs to the login, which ends otherwise as well. */
async function readRedirect(
  session: CliSession,
  troupe: UsedTroupe,
  server: string,
  signal: AbortSignal,
): Promise<void> {
  const prompt = createPrompt(session, {}, undefined, async (isFirst: boolean, terminal) => {
    if (isFirst)
      terminal.say('If that browser is on another machine, it cannot show the last page.');
    return terminal.read('Then paste its address here: ');
  });
  let pasted = await prompt?.(true, { signal });
  while (pasted !== undefined && !signal.aborted) {
    try {
      if (pasted.trim() !== '')
        return void (await troupe.request('finishLogin', { server, url: pasted.trim() }));
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      // The login is over.
      if (signal.aborted) return;
      session.output.note(error.message);
    }
    pasted = await prompt?.(false, { signal });
  }
}

/** `logout`: revokes and deletes a login. */
const logoutCommand: CommandDefinition<{ readonly account?: string }> = {
  usage: 'logout <server>',
  summary: "revoke and delete a server's login",
  details:
    'Instead of a server, its address can be given, as troupe accounts shows it: for a login whose server is no longer in the settings, or cannot start.',
  example: 'troupe logout db',
  options: [flag('--account <name>', 'the account, if an address has several logins', parseText)],
  run: (session, [server = ''], { account }) => {
    const isAddress = /^(?:https?|wss?):\/\//iu.test(server);
    if (account !== undefined && !isAddress)
      throw usageError('--account goes with the address of a login; see troupe accounts');
    const which = isAddress ? { resource: server, ...defined({ account }) } : { server };
    return withTroupe(session, isAddress ? null : server, async ({ request }) => {
      const result = await request('logout', which);
      session.output.document(result);
      session.output.lines([`logged out from ${printableLine(server, longestLine)}`]);
      return 0;
    });
  },
};

/** `accounts`: lists the stored logins. */
const accountsCommand: CommandDefinition = {
  usage: 'accounts',
  summary: 'list the stored logins',
  details: 'Starts no server. Tokens are never shown.',
  example: 'troupe accounts',
  run: (session) =>
    withTroupe(session, null, async ({ request }) => {
      const { accounts } = await request('accounts', {});
      session.output.document({ accounts });
      const lines = accounts.map(accountLine);
      session.output.lines(lines.length === 0 ? ['no login is stored'] : lines);
      return 0;
    }),
};

function accountLine(each: Account): string {
  const { resource, account, issuer, scopes, servers } = each;
  const parts = [
    `${resource}${account === undefined ? '' : ` (account ${account})`}`,
    `issuer ${issuer}`,
    ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(' ')}`]),
    validityOf(each),
    servers.length === 0 ? 'used by no server that is known yet' : `used by ${servers.join(', ')}`,
  ];
  return printableLine(parts.join('; '), longestLine);
}

function validityOf({ expired, expiresAt, renewable, renewalRefusal }: Account): string {
  const lifetime = `${expired ? 'expired at' : 'until'} ${expiresAt}`;
  const token = expiresAt === undefined ? 'token without an expiry' : `token ${lifetime}`;
  const refusal = renewalRefusal === undefined ? [] : [`renewal refused: ${renewalRefusal}`];
  const ability = expired ? 'to be renewed at the next use' : 'renewable';
  const next = expired ? ['log in again'] : [];
  return [token, ...refusal, ...(renewable ? [ability] : next)].join(', ');
}

export const loginCommands = [loginCommand, logoutCommand, accountsCommand];
