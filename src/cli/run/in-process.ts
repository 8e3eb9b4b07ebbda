/** Runs a command with a troupe of this process, which lives only as long as the command. */

import { printableLine } from '../../domain/data/printable.ts';
import type { QuestionHandler } from '../../domain/question.ts';
import { dockerGatewayKey } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { waitOnce } from '../../runtime/wait-once.ts';
import { createPermissionPrompt } from '../ask/permission.ts';
import { createQuestionPrompt, noteQuestion, type OpenAddress } from '../ask/question-prompt.ts';
import type { CliSession } from '../command.ts';
import { controlHandler } from '../control/commands.ts';
import type { ControlClient } from '../control/control-client.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import type { ControlEvent } from '../control/protocol.ts';
import { identityOf } from '../control/running-troupe.ts';
import type { ControlServer } from '../control/server.ts';
import { requireServer } from '../control/settled-servers.ts';
import { callSocketPath } from '../control/socket-path.ts';
import { removeDeadCallSockets } from '../control/stale-sockets.ts';
import type { Launch } from '../launch.ts';
import { showStartProgress } from '../show/start-progress.ts';
import { openBrowser } from './address-file.ts';
import { exitCodeOfSignal, listenForStop, stopOrderly } from './stop.ts';
import type { OneOff, UsedTroupe } from './used-troupe.ts';

// A pass takes milliseconds; after this, the call itself reports the problem.
const passMs = 2_000;

/** Starts a troupe, uses it and stops it. Resolves with the exit code. */
export async function inProcess(
  session: CliSession,
  ...[{ server, options }, explained, use]: OneOff
): Promise<number> {
  const { host, launch, output } = session;
  const createTroupe = await host.loadRuntime();
  await removeDeadCallSockets(launch);
  const stop = listenForStop(host);
  let crashed = false;
  const crash = new Promise<never>((_, reject) => {
    host.onCrash((error) => {
      crashed = true;
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
  const questions = createCallQuestions(session, () => troupe, host.openFile ?? openBrowser);
  const troupe: Troupe = createTroupe({ ...options, onQuestion: questions.onQuestion });
  const endProgress = showStartProgress(output, {
    servers: () => troupe.snapshot().servers,
    onChange: (listener) => troupe.on('status.changed', listener),
  });
  const run = async (): Promise<number> => {
    await troupe.ready();
    if (server !== undefined) {
      refuseLeftOut(launch, troupe, server);
      await waitForDocker(troupe, server, stop.signal);
      requireServer(troupe, server);
    }
    const follow: UsedTroupe['follow'] = (types, onEvent) => {
      for (const type of types)
        troupe.on(type, (event) => onEvent({ type, ...event } as ControlEvent));
    };
    return use({ request: requestIn(troupe, session, stop.signal), follow, explained });
  };
  try {
    return await Promise.race([run(), crash]);
  } catch (error) {
    const received = stop.received();
    const document = errorDocumentOf(error);
    if (received === undefined || document.code !== 'CANCELLED') {
      throw error instanceof TroupeError ? explained(error) : error;
    }
    output.error(document);
    return exitCodeOfSignal(received);
  } finally {
    endProgress();
    questions.close();
    await stopOrderly(troupe, stop, { force: crashed });
    stop.dispose();
  }
}

/** Runs commands in this process the way the control socket runs them. */
function requestIn(
  troupe: Troupe,
  session: CliSession,
  signal: AbortSignal,
): ControlClient['request'] {
  const run = controlHandler(troupe, identityOf(session.launch, session.host.version));
  const askPermission = createPermissionPrompt(session);
  const context = { signal, emit: () => undefined, askPermission };
  return ((command: Parameters<typeof run>[0], args: unknown) =>
    run(command, args, context)) as ControlClient['request'];
}

/** Reports that `--allow` excludes the server before looking for it. */
function refuseLeftOut({ allow }: Launch, troupe: Troupe, server: string): void {
  if (allow === undefined || allow.includes(server) || troupe.status(server) !== undefined) return;
  throw new TroupeError(
    'NOT_ALLOWED',
    `server ${printableLine(server, 100)} may not connect because --allow leaves it out; add it to --allow`,
    { server },
  );
}

/** Waits until Docker has reported whether its gateway exists, if the command uses that server. */
async function waitForDocker(troupe: Troupe, server: string, signal: AbortSignal): Promise<void> {
  if (troupe.status(server)?.source.key !== dockerGatewayKey) return;
  const steps = await troupe.plan();
  if (steps.every((step) => step.server !== server || step.step === 'keep')) return;
  const bounds = { clock: realClock, deadlineAt: realClock.now() + passMs, signal };
  await waitOnce(bounds, (wake) => troupe.on('reconciled', wake));
}

/**
 * Handles the questions about a call of a troupe in this process. Without a terminal, it opens a socket for
 * `troupe answer` with the first question, and the call goes on waiting.
 */
function createCallQuestions(
  session: CliSession,
  troupe: () => Troupe,
  open: OpenAddress,
): { readonly onQuestion: QuestionHandler; close(): void } {
  const prompt = createQuestionPrompt(session, open);
  if (prompt !== undefined) return { onQuestion: prompt, close: () => undefined };
  let opening: Promise<ControlServer> | undefined;
  return {
    async onQuestion(question) {
      try {
        opening ??= openSocket(session, troupe());
        await opening;
      } catch (error) {
        const why = error instanceof TroupeError ? error.message : String(error);
        session.output.note(`declined a question of ${question.server}: ${why}`);
        return { action: 'decline' };
      }
      noteQuestion(session, { ...question, id: `${process.pid}.${question.id}` });
      return undefined;
    },
    close() {
      opening?.then(
        (server) => server.close(),
        () => undefined,
      );
    },
  };
}

async function openSocket({ launch, host }: CliSession, troupe: Troupe): Promise<ControlServer> {
  // Loaded late: it needs Zod, which no other call should wait for.
  const { openControlServer } = await import('../control/server.ts');
  const run = controlHandler(troupe, identityOf(launch, host.version));
  return openControlServer(callSocketPath(launch, process.pid), (command, ...rest) => {
    if (command === 'identify' || command === 'questions' || command === 'answer')
      return run(command, ...rest);
    throw usageError('this is a single call, which only takes answers; run troupe up for more');
  });
}
