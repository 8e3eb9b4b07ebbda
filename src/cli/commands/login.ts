import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { createPrompt } from '../ask/terminal.ts';
import { type CliSession, type CommandDefinition, flag } from '../command.ts';
import { openPage } from '../run/address-file.ts';
import { type UsedTroupe, withTroupe } from '../run/with-troupe.ts';
import { statusLine } from '../show/status-lines.ts';

/** Long enough to find a password; the policy `auth.loginTimeoutMs` ends the login earlier. */
const loginTimeoutMs = 900_000;
const extraMs = 2_000;
const longestLine = 500;

interface LoginFlags {
  /** False for `--no-browser`. */
  readonly browser?: boolean;
}

/** `login`: logs in to a remote server. */
const loginCommand: CommandDefinition<LoginFlags> = {
  usage: 'login <server>',
  summary: 'log in to a remote server in the browser',
  details:
    'Waits until the server has started with the login. Servers with the same address and account share it. Without a browser on this machine, use --no-browser: it prints the address to open anywhere, and reads the address to which that browser was redirected.',
  example: 'troupe login db',
  options: [flag('--no-browser', 'print the address instead of opening a browser')],
  run: (session, [server = ''], { browser = true }) =>
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
        void showLogin(session, troupe, event, browser, over.signal);
      });
      try {
        const { status } = await troupe.request(
          'login',
          { server, timeoutMs },
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

/** Opens or prints the address, and reads the one to which another machine's browser was redirected. */
async function showLogin(
  session: CliSession,
  troupe: UsedTroupe,
  { server, url }: { readonly server: string; readonly url: string },
  isBrowserWanted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { output } = session;
  if (output.json) return output.documentLine({ type: 'auth.started', server, url });
  if (isBrowserWanted && (await openPage(session, url, signal))) {
    // The program that opens a browser may start and still find none.
    output.note(`log in to ${server} in the browser; if none appears, open this address:\n${url}`);
    return;
  }
  output.note(`open this address in a browser and log in to ${server}:\n${url}`);
  const prompt = createPrompt(session, {}, undefined, async (_: undefined, terminal) => {
    terminal.say('If that browser is on another machine, it cannot show the last page.');
    return terminal.read('Then paste its address here: ');
  });
  const pasted = (await prompt?.(undefined, { signal }))?.trim();
  if (pasted === undefined || pasted === '' || signal.aborted) return;
  try {
    await troupe.request('finishLogin', { server, url: pasted });
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    output.note(error.message);
  }
}

/** `logout`: revokes and deletes a login. */
const logoutCommand: CommandDefinition = {
  usage: 'logout <server>',
  summary: "revoke and delete a server's login",
  example: 'troupe logout db',
  run: (session, [server = '']) =>
    withTroupe(session, server, async ({ request }) => {
      const result = await request('logout', { server });
      session.output.document(result);
      session.output.lines([`logged out from ${server}`]);
      return 0;
    }),
};

/** `accounts`: lists the stored logins. */
const accountsCommand: CommandDefinition = {
  usage: 'accounts',
  summary: 'list the stored logins',
  details: 'Tokens are never shown.',
  example: 'troupe accounts',
  run: (session) =>
    withTroupe(session, undefined, async ({ request }) => {
      const { accounts } = await request('accounts', {});
      session.output.document({ accounts });
      const lines = accounts.map(({ resource, account, issuer, scopes, expiresAt, servers }) =>
        printableLine(
          [
            `${resource}${account === undefined ? '' : ` (account ${account})`}`,
            `issuer ${issuer}`,
            ...(scopes.length === 0 ? [] : [`scopes ${scopes.join(' ')}`]),
            ...(expiresAt === undefined ? [] : [`token until ${expiresAt}`]),
            ...(servers.length === 0 ? [] : [`used by ${servers.join(', ')}`]),
          ].join('; '),
          longestLine,
        ),
      );
      session.output.lines(lines.length === 0 ? ['no login is stored'] : lines);
      return 0;
    }),
};

export const loginCommands = [loginCommand, logoutCommand, accountsCommand];
