/** Reaches the questions of the running troupe, and of single calls that run without one. */

import type { Question } from '../../domain/question.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { Launch } from '../launch.ts';
import { type ControlClient, connectControl } from './control-client.ts';
import { findRunning, withRunning } from './running-troupe.ts';
import { callPids, callSocketPath } from './socket-path.ts';

/**
 * Returns all open questions. A single call's questions have its pid before their id.
 * @throws TroupeError `NOT_RUNNING` when there is neither a running troupe nor a question
 */
export async function allQuestions(launch: Launch): Promise<readonly Question[]> {
  const ofCalls = (await Promise.all(callPids(launch).map((pid) => ofCall(launch, pid)))).flat();
  const running = ofCalls.length === 0 ? undefined : await findRunning(launch);
  running?.client.close();
  if (ofCalls.length > 0 && running === undefined) return ofCalls;
  const { questions } = await withRunning(launch, (client) => client.request('questions', {}));
  return [...questions, ...ofCalls];
}

async function ofCall(launch: Launch, pid: number): Promise<readonly Question[]> {
  const client = await connectControl(callSocketPath(launch, pid));
  try {
    const { questions = [] } = (await client?.request('questions', {})) ?? {};
    return questions.map((question) => ({ ...question, id: `${pid}.${question.id}` }));
  } catch {
    // The call ended meanwhile, and its questions with it.
    return [];
  } finally {
    client?.close();
  }
}

/**
 * Connects to the troupe that asks a question, by the id that `troupe questions` shows.
 * @throws TroupeError `INVALID_ARGUMENTS` for a call that no longer waits, or as `withRunning`
 */
export async function withAsking<Result>(
  launch: Launch,
  id: string,
  use: (client: ControlClient, ownId: string) => Promise<Result>,
): Promise<Result> {
  const [, pid, ownId] = /^(\d{1,7})\.(q\d+)$/u.exec(id) ?? [];
  if (pid === undefined || ownId === undefined)
    return withRunning(launch, (client) => use(client, id));
  const client = await connectControl(callSocketPath(launch, Number(pid)));
  if (client === undefined)
    throw argumentsError(
      `no call with the pid ${pid} waits for an answer here; see troupe questions, or add the call's --project and --state-dir`,
    );
  try {
    return await use(client, ownId);
  } finally {
    client.close();
  }
}
