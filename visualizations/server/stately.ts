/**
 * Shows a troupe in Stately's tools by sending its records to an inspector of `@statelyai/inspect`. This module
 * does not load that package: the host creates the inspector and thereby chooses the destination of the records.
 *
 * Records pass the same allow-lists and redaction as in the troupe's own inspector and contain no settings,
 * arguments or results.
 */

import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type {
  ActorKey,
  Inspection,
  InspectionRecord,
  PicturedActor,
} from '../../src/domain/host/inspection.ts';
import { version } from '../../src/domain/version.ts';
import { chartConfig } from '../../src/recorder/chart-json.ts';
import { machines, stateValueOf } from '../../src/recorder/chart-names.ts';

/** The used part of a `@statelyai/inspect` inspector, as `createWebSocketInspector()` and others return it. */
export interface StatelyInspector {
  readonly adapter: { send(event: StatelyInspectionEvent): void };
}

// Enough for one turn of the event loop.
const pageSize = 1_000;

/**
 * Sends the records of a troupe's charts to an inspector until the returned function is called.
 *
 * Warns once, because the receiver sees the names, states and failures of all servers: Stately's pages are on
 * the internet, and the package's `createInspectorServer` listens on all interfaces and accepts connections
 * from any web page.
 */
export function inspectWithStately(
  troupe: { readonly inspection: Inspection },
  { adapter }: StatelyInspector,
): () => void {
  process.emitWarning(
    'The names, states and failures of all servers are sent to the inspector of @statelyai/inspect, ' +
      'which may forward them; call the function that inspectWithStately() returned to stop.',
    { type: 'McpTroupeWarning', code: 'MCP_TROUPE_STATELY' },
  );
  const { inspection } = troupe;
  inspection.start();
  const bridge = new StatelyBridge(inspection, (event) => adapter.send(event));
  bridge.begin();
  return inspection.follow(() => bridge.catchUp());
}

type Moment = Pick<InspectionRecord, 'n' | 't'>;

class StatelyBridge {
  readonly #source: Inspection;
  readonly #send: (event: StatelyInspectionEvent) => void;
  readonly #contexts = new Map<ActorKey, Record<string, unknown>>();
  /** Each actor's last event, which caused its next state. */
  readonly #events = new Map<ActorKey, string>();
  #rootId: ActorKey | undefined;
  #next = 1;

  constructor(source: Inspection, send: (event: StatelyInspectionEvent) => void) {
    this.#source = source;
    this.#send = send;
  }

  /** Sends the current state. */
  begin(): void {
    const picture = this.#source.picture();
    this.#contexts.clear();
    if (picture === undefined) return;
    this.#next = picture.n + 1;
    for (const actor of picture.actors) {
      this.#contexts.set(actor.actor, { ...this.#source.context(actor.actor) });
      this.#sendActor(actor, picture);
    }
  }

  /** Sends new records, or the current state when some records are already gone. */
  catchUp(): void {
    if (this.#next < this.#source.first) this.begin();
    for (let page = this.#page(); page.length > 0; page = this.#page()) {
      for (const record of page) this.#sendRecord(record);
      this.#next = (page.at(-1)?.n ?? this.#next) + 1;
    }
  }

  #page(): readonly InspectionRecord[] {
    return this.#source.records(this.#next, pageSize);
  }

  #sendRecord(record: InspectionRecord): void {
    if (record.kind === 'actor') {
      this.#sendActor({ ...record, life: 'active', leaves: [], timers: [] }, record);
    } else if (record.kind === 'event') {
      const { to, from, type, facts } = record;
      this.#events.set(to, type);
      const event = { ...facts, type };
      this.#send({ ...this.#stamp('@xstate.event', to, record), event, sourceId: from });
    } else if (record.kind === 'state') {
      const { actor, life, leaves, changed } = record;
      const context = { ...this.#contexts.get(actor), ...changed };
      this.#contexts.set(actor, context);
      this.#send({
        ...this.#stamp('@xstate.snapshot', actor, record),
        event: { type: this.#events.get(actor) ?? '' },
        snapshot: { status: life, value: stateValueOf(leaves), context },
      } as unknown as StatelyInspectionEvent);
      if (life === 'active') return;
      this.#contexts.delete(actor);
      this.#events.delete(actor);
    }
  }

  #sendActor({ actor, id, parent, machine, life, leaves }: PicturedActor, at: Moment): void {
    if (parent === undefined) this.#rootId = actor;
    const context = this.#contexts.get(actor) ?? {};
    this.#send({
      ...this.#stamp('@xstate.actor', actor, at),
      // The root's id is generated.
      name: parent === undefined ? (machine ?? id) : id,
      parentId: parent,
      definition:
        machine === undefined
          ? JSON.stringify({ id })
          : JSON.stringify(chartConfig(machines[machine])),
      snapshot: { status: life, value: stateValueOf(leaves), context },
    } as unknown as StatelyInspectionEvent);
  }

  #stamp<Type extends string>(type: Type, sessionId: ActorKey, { n, t }: Moment) {
    return {
      type,
      sessionId,
      rootId: this.#rootId ?? sessionId,
      createdAt: String(Date.parse(this.#source.startedAt) + Math.round(t)),
      id: String(n),
      _version: `mcp-troupe ${version}`,
    };
  }
}
