/** The connection to the troupe: first the current picture, then new records, then older ones. */

import type {
  InspectionPicture,
  InspectionRecord,
  InspectionSession,
} from '../../../src/domain/host/inspection.ts';
import { troupeStateIn } from '../../../src/recorder/picture.ts';
import type { ChartFacts } from '../model/chart-facts.ts';
import { History } from '../model/history.ts';
import { openingMoment } from '../model/problems.ts';
import { advance, worldOf } from '../model/world.ts';
import { ask, InspectorError } from './api.ts';
import { heard } from './clock.ts';
import { openComparison } from './comparison.ts';
import { enter, forget, hasToken, request } from './entry.ts';
import { forgetAddress } from './login.ts';
import { go, showMoment } from './moments.ts';
import { streamRecords } from './record-stream.ts';
import { change, current, type Link } from './store.ts';

/** What the server gives at once. */
const mostAtOnce = 5_000;

// Long enough for a troupe that restarts at the same port; after this, it has ended.
const patienceMs = 4_000;

let leave: (() => void) | undefined;
let lostAt: number | undefined;
/** Counts the attempts to connect; only the last one may change anything. */
let attempts = 0;

/** Connects to the troupe, or reconnects when records are missing. */
export async function connect(): Promise<void> {
  leave?.();
  attempts += 1;
  const attempt = attempts;
  try {
    await enter(() => void connect());
    const [session, picture] = await Promise.all([
      ask<InspectionSession>('api/session'),
      ask<InspectionPicture>('api/picture'),
    ]);
    if (attempt !== attempts) return;
    const live = worldOf(picture);
    const isLive = session.mode === 'live';
    change({
      session,
      live,
      world: live,
      history: new History(picture),
      link: isLive ? 'live' : 'replay',
      revision: current().revision + 1,
    });
    document.title = `${session.title} · Troupe inspector`;
    if (isLive) follow(picture.n);
    void loadFacts();
    await fill(session);
    if (session.isCompared) await openComparison();
    else if (!isLive && current().route.at === undefined) openRecording();
    showMoment(current().route.at);
  } catch (error) {
    if (attempt === attempts) lose(error);
  }
}

/** A recording ends with everything stopped, so it opens where something happened. */
function openRecording(): void {
  const { history, route } = current();
  const isRoot = (actor: string): boolean => history.known.get(actor)?.machine === 'troupe';
  const found = openingMoment(history.records, isRoot);
  if (found === undefined) return;
  go({ at: found.n, server: route.server ?? found.server }, { keep: true });
}

function follow(from: number): void {
  leave = streamRecords(request, from, {
    record: (text) => take(JSON.parse(text) as InspectionRecord),
    gap: () => void connect(),
    opened() {
      if (lostAt !== undefined) void resume();
    },
    interrupted() {
      if (lostAt === undefined) {
        lostAt = Date.now();
        change({ link: isStopped() ? 'ended' : 'lost' });
      } else if (Date.now() - lostAt > patienceMs) change({ link: 'ended' });
    },
    refused: () => void diagnose(),
  });
}

/** Reconnects when a new link is opened in this tab, which only changes the URL fragment. */
export function followTokens(): void {
  window.addEventListener('hashchange', () => {
    if (hasToken()) void connect();
  });
}

/** The stream is back, from the same run or from another one at the same port. */
async function resume(): Promise<void> {
  lostAt = undefined;
  try {
    const session = await ask<InspectionSession>('api/session');
    if (session.startedAt === current().session?.startedAt) change({ link: 'live' });
    else await connect();
  } catch (error) {
    lose(error);
  }
}

/** The stream was refused; another request shows why. */
async function diagnose(): Promise<void> {
  try {
    await ask<InspectionSession>('api/session');
    await connect();
  } catch (error) {
    lose(error);
  }
}

function lose(error: unknown): void {
  const refused = error instanceof InspectorError && (error.status === 401 || error.status === 403);
  if (refused) forget();
  const link: Link = refused ? 'refused' : isStopped() ? 'ended' : 'lost';
  change({ link });
  if (!refused) setTimeout(() => void connect(), patienceMs);
}

function isStopped(): boolean {
  const state = troupeStateIn(current().live);
  return state === 'stopping' || state === 'stopped';
}

const changedNames = new Set<string>();

/** The servers that changed since the last call. */
export function takeChanged(): readonly string[] {
  const names = [...changedNames];
  changedNames.clear();
  return names;
}

function take(record: InspectionRecord): void {
  const { live, history, route, revision } = current();
  if (record.n <= live.n) return;
  if (!history.add(record)) {
    void connect();
    return;
  }
  heard(record.t);
  if (
    record.kind === 'status' &&
    live.servers.get(record.status.name)?.state !== record.status.state
  ) {
    changedNames.add(record.status.name);
  }
  forgetAddress(record);
  advance(live, record);
  // While the past is shown, only the number of records changes.
  change(
    route.at === undefined ? { world: live, revision: revision + 1 } : { revision: revision + 1 },
  );
}

/** Reads the records from before the page was opened. */
async function fill({ first }: InspectionSession): Promise<void> {
  change({ filling: true });
  try {
    const picture = await ask<InspectionPicture>(`api/picture?at=${first - 1}`);
    const older = new History(picture);
    for (
      let from: number | null = picture.n + 1;
      from !== null && older.last < current().history.first;
    ) {
      const part: { records: readonly InspectionRecord[]; next: number | null } = await ask(
        `api/records?from=${from}&limit=${mostAtOnce}`,
      );
      if (!part.records.every((record) => older.add(record))) break;
      from = part.next === from ? null : part.next;
    }
    const { history, revision } = current();
    if (older.last >= history.first && history.records.every((record) => older.add(record))) {
      const { live } = current();
      const known = older.at(older.last);
      for (const [name, trail] of known.trails) live.trails.set(name, trail);
      for (const [actor, moves] of known.moves) live.moves.set(actor, moves);
      change({ history: older, revision: revision + 1 });
    }
  } catch {
    // Older records may be gone; the page works without them.
  } finally {
    change({ filling: false });
  }
}

async function loadFacts(): Promise<void> {
  if (current().facts !== undefined) return;
  try {
    change({ facts: await ask<ChartFacts>('charts/charts.json') });
  } catch {
    // Only the explanations in the pictures are missing.
  }
}
