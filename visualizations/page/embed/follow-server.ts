/** Follows one server through an inspector's records, and starts over whenever the connection is lost. */

import type { InspectionPicture, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import { actorOf, advance, type World, worldOf } from '../model/world.ts';
import { type Get, streamRecords } from '../state/record-stream.ts';

/** A server as its records show it. */
export interface Followed {
  /** Empty if there is no such server. */
  readonly leaves: readonly string[];
  /** In words, for those who do not see the chart. */
  readonly text: string;
  readonly isLost: boolean;
}

const retryMs = 2_000;

/** @param src - where the inspector is; returns the function that ends it */
export function followServer(
  src: string,
  server: string,
  show: (followed: Followed) => void,
): () => void {
  const base = new URL(src.endsWith('/') ? src : `${src}/`, document.baseURI);
  const get: Get = (path, init) => fetch(new URL(path, base), init);
  let leave = (): void => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const lose = (): void => {
    leave();
    if (isOver) return;
    show({ leaves: [], text: 'not connected', isLost: true });
    clearTimeout(timer);
    timer = setTimeout(() => void begin(), retryMs);
  };
  const begin = async (): Promise<void> => {
    try {
      const response = await get('api/picture');
      if (!response.ok) return lose();
      const world = worldOf((await response.json()) as InspectionPicture);
      if (isOver) return;
      show(shownOf(world, server));
      leave = streamRecords(get, world.n, {
        record(text) {
          const record = JSON.parse(text) as InspectionRecord;
          if (record.n <= world.n) return;
          advance(world, record);
          if (record.kind === 'state' || record.kind === 'status') show(shownOf(world, server));
        },
        opened: () => undefined,
        gap: lose,
        interrupted: lose,
        refused: lose,
      });
    } catch {
      lose();
    }
  };
  void begin();
  return () => {
    isOver = true;
    clearTimeout(timer);
    leave();
  };
}

function shownOf(world: World, wanted: string): Followed {
  const [first = ''] = world.servers.keys();
  const name = wanted === '' ? first : wanted;
  const { state, reason } = world.servers.get(name) ?? {};
  const words = [state ?? 'unknown', reason].filter((word) => word !== undefined);
  const leaves = actorOf(world, name)?.leaves ?? [];
  return { leaves, text: `${name}: ${words.join(', ')}`, isLost: false };
}
