/** Runs the commands of the control socket. */

import type { CallerCode } from '../../domain/caller-code.ts';
import { longestTimerMs } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ApprovalRequest } from '../../domain/host/approval.ts';
import { troupeEventNames } from '../../domain/host/event.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { QuestionClient } from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { waitOnce } from '../../runtime/wait-once.ts';
import { listPrompts, listResources, listTools } from './offers.ts';
import type { ControlEvent, ControlResults, Identity } from './protocol.ts';
import { settleTimeoutMs } from './protocol.ts';
import type { ControlArgs, ControlCommand, ProcessCommand } from './schemas.ts';
import type { ControlContext, ControlHandler } from './server.ts';
import { requireServer, unusableError, waitUntilSettled } from './settled-servers.ts';

// A decision is applied within one pass, which takes milliseconds; after this, the answer reports the
// current state.
const decisionTimeoutMs = 2_000;

type TroupeCommand = Exclude<ControlCommand, 'inspect' | ProcessCommand>;

type Commands = {
  readonly [Command in TroupeCommand]: (
    args: ControlArgs[Command],
    context: ControlContext,
  ) => Promise<ControlResults[Command]> | ControlResults[Command];
};

/**
 * Builds the handler for one troupe, without `inspect`.
 *
 * @param client - answers the questions that may be about any of several calls; the caller's, if only one call is made
 */
export function controlHandler(
  troupe: Troupe,
  identity: Identity,
  client?: QuestionClient,
): ControlHandler<TroupeCommand> {
  const commands: Commands = {
    identify: () => identity,
    status({ server }) {
      const snapshot = troupe.snapshot();
      return server === undefined
        ? snapshot
        : { ...snapshot, servers: [requireServer(troupe, server)] };
    },
    explain: ({ server }) => present(troupe, server, troupe.explain(server)),
    logs({ server, lines }) {
      const all = present(troupe, server, troupe.logs(server));
      return { server, lines: lines === undefined ? all : all.slice(-lines) };
    },
    ...offering(troupe),
    usage: ({ server }) => usageOf(troupe, server),
    async call({ server, tool, arguments: args, timeoutMs, requestId, permission }, context) {
      const { signal } = context;
      // Only the user can connect here, and has answered at the terminal.
      const askPermission = permission === undefined ? context.askPermission : () => permission;
      const options = { signal, requestId, timeoutMs, askPermission, client };
      const report = await troupe.callServerTool(server, tool, args ?? {}, defined(options));
      const { background: id } = report.meta;
      // The user waits for the result; the call still ends at its own deadline.
      return id === undefined ? report : troupe.collect(id, { signal, timeoutMs: longestTimerMs });
    },
    questions: () => ({ questions: troupe.questions() }),
    answer({ id, action, content }) {
      troupe.answer(id, action === 'accept' ? defined({ action, content }) : { action });
      return { id };
    },
    permissions: async () => ({ permissions: await troupe.permissions() }),
    forgetPermissions: async (which) => ({
      forgotten: await troupe.forgetPermissions(defined(which)),
    }),
    plan: async () => ({
      steps: await troupe.plan(),
      problems: (await troupe.checkSettings()).problems,
    }),
    approvals: () => ({ approvals: troupe.approvals() }),
    approve: deciding(troupe, 'approval.grant'),
    reject: deciding(troupe, 'approval.reject'),
    revoke: deciding(troupe, 'approval.revoke'),
    start: starting(troupe, 'server.start'),
    restart: starting(troupe, 'server.restart'),
    async stop({ server, timeoutMs = settleTimeoutMs }, { signal }) {
      const { state } = requireServer(troupe, server);
      troupe.send({ type: 'server.stop', server });
      // A blocked or disabled server does not become `stopped`.
      if (state === 'blocked' || state === 'disabled')
        return { status: requireServer(troupe, server) };
      return { status: await troupe.waitFor(server, 'stopped', { timeoutMs, signal }) };
    },
    ...loggingIn(troupe),
    reload() {
      troupe.send({ type: 'settings.reload' });
      return { troupe: troupe.snapshot().troupe };
    },
    events({ types }, { signal, emit }) {
      const chosen = troupeEventNames.filter((type) => types === undefined || types.includes(type));
      const ends = chosen.map((type) =>
        troupe.on(type, (event) => emit({ type, ...event } as ControlEvent)),
      );
      signal.addEventListener('abort', () => {
        for (const end of ends) end();
      });
      return { types: chosen };
    },
  };

  return async (command, args, context) => {
    const run = commands[command] as (args: unknown, context: ControlContext) => unknown;
    try {
      return await run(args, context);
    } catch (error) {
      const { server } = args as { readonly server?: string };
      throw server === undefined ? error : await errorOfAbsent(troupe, server, error);
    }
  };
}

/** Returns the value; without one, throws the error of a missing server. */
function present<Value>(troupe: Troupe, server: string, value: Value | undefined): Value {
  if (value !== undefined) return value;
  requireServer(troupe, server);
  throw new TroupeError('SERVER_REMOVED', `${server} was just removed; see troupe status`, {
    server,
  });
}

/**
 * Returns the same error for a missing server after every command. Only a call reports that a server was
 * removed, so this makes a call that is cancelled before it starts.
 */
async function errorOfAbsent(troupe: Troupe, server: string, error: unknown): Promise<unknown> {
  const isAbout = error instanceof TroupeError && absentCodes.has(error.code);
  if (!isAbout || troupe.status(server) !== undefined) return error;
  try {
    await troupe.callServerTool(server, '-', {}, { signal: AbortSignal.abort() });
  } catch (own) {
    if (own instanceof TroupeError && own.code === 'SERVER_REMOVED') return own;
  }
  try {
    requireServer(troupe, server);
  } catch (own) {
    return own;
  }
  return error;
}

const absentCodes: ReadonlySet<CallerCode> = new Set([
  'SERVER_UNKNOWN',
  'SERVER_REMOVED',
  'INVALID_CONFIG',
]);

async function usageOf(
  troupe: Troupe,
  server: string | undefined,
): Promise<ControlResults['usage']> {
  if (server !== undefined) requireServer(troupe, server);
  const all = await troupe.usage();
  return { usage: all.filter((each) => server === undefined || each.server === server) };
}

/** The requests about what servers offer besides calls of tools. */
function offering(
  troupe: Troupe,
): Pick<Commands, 'tools' | 'resources' | 'prompts' | 'refresh' | 'readResource' | 'getPrompt'> {
  return {
    tools: ({ server, timeoutMs = settleTimeoutMs }, { signal }) =>
      listTools(troupe, server, { timeoutMs, signal }),
    async refresh({ server, timeoutMs }, { signal }) {
      requireServer(troupe, server);
      return { status: await troupe.refresh(server, defined({ timeoutMs, signal })) };
    },
    resources: ({ server, timeoutMs = settleTimeoutMs }, { signal }) =>
      listResources(troupe, server, { timeoutMs, signal }),
    prompts: ({ server, timeoutMs = settleTimeoutMs }, { signal }) =>
      listPrompts(troupe, server, { timeoutMs, signal }),
    readResource: ({ server, uri, timeoutMs }, { signal }) =>
      troupe.readResource(server, uri, defined({ signal, timeoutMs })),
    getPrompt: ({ server, prompt, arguments: args, timeoutMs }, { signal }) =>
      troupe.getPrompt(server, prompt, args ?? {}, defined({ signal, timeoutMs })),
  };
}

function loggingIn(
  troupe: Troupe,
): Pick<Commands, 'login' | 'finishLogin' | 'logout' | 'accounts'> {
  return {
    login: async ({ server, timeoutMs, device }, { signal }) => ({
      status: await troupe.login(server, defined({ signal, timeoutMs, device })),
    }),
    async finishLogin({ server, url }) {
      await troupe.finishLogin(server, url);
      return { server };
    },
    async logout(which) {
      if ('server' in which) {
        await troupe.logout(which.server);
        return which;
      }
      const { resource, account } = which;
      const login = { resource, ...defined({ account }) };
      await troupe.logout(login);
      return login;
    },
    accounts: async () => ({ accounts: await troupe.accounts() }),
  };
}

function starting(troupe: Troupe, type: 'server.start' | 'server.restart'): Commands['start'] {
  return async ({ server, timeoutMs = settleTimeoutMs }, { signal }) => {
    requireServer(troupe, server);
    troupe.send({ type, server });
    const [settled] = await waitUntilSettled(troupe, server, { timeoutMs, signal });
    const status = settled ?? requireServer(troupe, server);
    const error = unusableError(status);
    if (error !== undefined) throw error;
    return { status };
  };
}

const decisionAfter = {
  'approval.grant': 'granted',
  'approval.reject': 'rejected',
  'approval.revoke': 'pending',
} as const;

function deciding(troupe: Troupe, type: keyof typeof decisionAfter): Commands['approve'] {
  return async ({ server, fingerprint: shown }, { signal }) => {
    const before = requireServer(troupe, server);
    const { fingerprint, because, decision } = approvalOf(troupe, server);
    if (shown !== undefined && shown !== fingerprint) {
      throw new TroupeError(
        'PENDING_APPROVAL',
        `${server} changed since it was shown, so nothing was decided; review it and repeat the command`,
        { server },
      );
    }
    troupe.send({ type, server, fingerprint });
    // Approving tool changes shows them at once and does not change the server's state.
    const isOfServer = because !== 'toolsChanged' || type !== 'approval.grant';
    if (isOfServer && decision !== decisionAfter[type]) await changeOf(troupe, before, signal);
    const saved = await troupe.approvalsSaved();
    return { approval: approvalOf(troupe, server), status: requireServer(troupe, server), saved };
  };
}

function approvalOf(troupe: Troupe, server: string): ApprovalRequest {
  const [approval] = troupe.approvals(server);
  if (approval !== undefined) return approval;
  const status = troupe.status(server);
  const isInvalid = status?.reason === 'invalidConfig';
  const message = isInvalid
    ? `${server} cannot be approved or rejected while its settings are invalid: ${status.action ?? `see troupe status ${server}`}`
    : `${server} needs no approval, because your own settings name it; see troupe status ${server}`;
  throw new TroupeError('USAGE', message, { server });
}

/** Resolves when the server's status changes, or after a short time. */
async function changeOf(troupe: Troupe, before: ServerStatus, signal: AbortSignal): Promise<void> {
  const same = (status: ServerStatus | undefined): boolean =>
    status?.state === before.state && status.reason === before.reason;
  if (!same(troupe.status(before.name))) return;
  const deadlineAt = realClock.now() + decisionTimeoutMs;
  await waitOnce({ clock: realClock, deadlineAt, signal }, (wake) =>
    troupe.on('status.changed', ({ status }) => {
      if (status.name === before.name && !same(status)) wake();
    }),
  );
}
