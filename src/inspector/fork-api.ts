/** What a page can try without doing it: forks of a moment, and a way to a state as a test. */

import type { InspectionSource } from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import type { Forks } from './forks.ts';
import { type Answer, refused } from './inspector-api.ts';
import { modelTestOf } from './model-test.ts';

/** `POST /api/fork`: begins one. */
export function beginFork(forks: Forks, body: unknown): Answer {
  if (!isRecord(body) || typeof body['actor'] !== 'string' || !isCount(body['at'])) {
    return refused(400, 'INVALID_ARGUMENTS', 'send {"at": 120, "actor": "x:4"}');
  }
  const { actor, at } = body;
  return answered(() => forks.create(actor as string, at as number));
}

/** `POST /api/fork/ID`: puts an event in, or lets time pass. */
export function changeFork(forks: Forks, id: string, body: unknown): Answer {
  const { event, advanceMs } = isRecord(body) ? body : {};
  if (isRecord(event)) return answered(() => forks.change(id, { event }));
  if (typeof advanceMs === 'number') return answered(() => forks.change(id, { advanceMs }));
  const wanted = 'send {"event": {"type": "server.stop"}} or {"advanceMs": 1000}';
  return refused(400, 'INVALID_ARGUMENTS', wanted);
}

/** `GET /api/test?actor=KEY&to=N`: the text of a test. */
export function testOf(
  source: InspectionSource,
  actor: string,
  to: number,
): { readonly text: string } | { readonly refusal: Answer } {
  try {
    return { text: modelTestOf(source, actor, to) };
  } catch (error) {
    return { refusal: refusalOf(error) };
  }
}

function answered(view: () => unknown): Answer {
  try {
    return { status: 200, document: view() };
  } catch (error) {
    return refusalOf(error);
  }
}

function refusalOf(error: unknown): Answer {
  if (!(error instanceof TroupeError)) throw error;
  return refused(400, error.code, error.message);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
