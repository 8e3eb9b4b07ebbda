/**
 * Shows a troupe in Stately's own tools: hands what is recorded to an inspector of
 * `@statelyai/inspect`, in its words. Nothing of that package is loaded from here;
 * the host makes the inspector, and decides with it who sees what is sent.
 *
 * What is sent has passed the same allow-lists and the same redaction as the
 * records of the troupe's own inspector: no settings, arguments or results.
 */

import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type {
  ActorKey,
  Inspection,
  InspectionRecord,
  MachineKey,
  PicturedActor,
} from '../domain/host/inspection.ts';
import { version } from '../domain/version.ts';
import { machines, stateValueOf } from '../recorder/chart-names.ts';

/** What of an inspector of `@statelyai/inspect` is used: `createWebSocketInspector()` and the others return one. */
export interface StatelyInspector {
  readonly adapter: { send(event: StatelyInspectionEvent): void };
}

// Enough for one go between two turns of the event loop.
const pageSize = 1_000;

/**
 * Sends what the charts of a troupe do to an inspector, from now on until the returned function is called.
 *
 * Warns once, because whoever receives it sees the names, states and failures of all servers: the
 * pages of Stately are on the internet, and `createInspectorServer` of that package listens on all
 * interfaces and takes connections from any web page.
 */
export function inspectWithStately(
  troupe: { readonly inspection: Inspection },
  { adapter }: StatelyInspector,
): () => void {
  process.emitWarning(
    'The names, states and failures of all servers go to the inspector of @statelyai/inspect, ' +
      'and to whoever it sends them; end it with the function that inspectWithStately() returned.',
    { type: 'McpTroupeWarning', code: 'MCP_TROUPE_STATELY' },
  );
  const { inspection } = troupe;
  inspection.start();
  const bridge = new Bridge(inspection, (event) => adapter.send(event));
  bridge.begin();
  return inspection.follow(() => bridge.catchUp());
}

interface Moment {
  readonly n: number;
  readonly t: number;
}

class Bridge {
  readonly #source: Inspection;
  readonly #send: (event: StatelyInspectionEvent) => void;
  readonly #contexts = new Map<ActorKey, Record<string, unknown>>();
  /** The event that an actor was sent last: a state is the answer to it. */
  readonly #events = new Map<ActorKey, string>();
  #rootId: ActorKey | undefined;
  #next = 1;

  constructor(source: Inspection, send: (event: StatelyInspectionEvent) => void) {
    this.#source = source;
    this.#send = send;
  }

  /** Tells what is true now. */
  begin(): void {
    const picture = this.#source.picture();
    this.#contexts.clear();
    if (picture === undefined) return;
    this.#next = picture.n + 1;
    for (const actor of picture.actors) {
      this.#contexts.set(actor.actor, { ...this.#source.context(actor.actor) });
      this.#tellActor(actor, picture);
    }
  }

  /** Tells what came since; when some of it is gone already, what is true now. */
  catchUp(): void {
    if (this.#next < this.#source.first) this.begin();
    for (let page = this.#page(); page.length > 0; page = this.#page()) {
      for (const record of page) this.#tell(record);
      this.#next = (page.at(-1)?.n ?? this.#next) + 1;
    }
  }

  #page(): readonly InspectionRecord[] {
    return this.#source.records(this.#next, pageSize);
  }

  #tell(record: InspectionRecord): void {
    if (record.kind === 'actor') {
      this.#tellActor({ ...record, life: 'active', leaves: [], timers: [] }, record);
    } else if (record.kind === 'event') {
      const { to, from, type, facts } = record;
      this.#events.set(to, type);
      const event = { ...facts, type };
      this.#send({
        ...this.#stamp('@xstate.event', to, record),
        event,
        sourceId: from,
      });
    } else if (record.kind === 'state') {
      const { actor, life, leaves, changed } = record;
      const context = { ...this.#contexts.get(actor), ...changed };
      this.#contexts.set(actor, context);
      this.#send({
        ...this.#stamp('@xstate.snapshot', actor, record),
        event: { type: this.#events.get(actor) ?? '' },
        snapshot: { status: life, value: stateValueOf(leaves), context },
      } as unknown as StatelyInspectionEvent);
      if (life !== 'active') this.#forget(actor);
    }
  }

  #tellActor({ actor, id, parent, machine, life, leaves }: PicturedActor, at: Moment): void {
    if (parent === undefined) this.#rootId = actor;
    const context = this.#contexts.get(actor) ?? {};
    this.#send({
      ...this.#stamp('@xstate.actor', actor, at),
      // The root has no name of its own.
      name: parent === undefined ? (machine ?? id) : id,
      parentId: parent,
      definition: machine === undefined ? JSON.stringify({ id }) : definitionOf(machine),
      snapshot: { status: life, value: stateValueOf(leaves), context },
    } as unknown as StatelyInspectionEvent);
  }

  #forget(actor: ActorKey): void {
    this.#contexts.delete(actor);
    this.#events.delete(actor);
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

const definitions = new Map<MachineKey, string>();

/** A chart as JSON; functions by their names. */
function definitionOf(machine: MachineKey): string {
  const known = definitions.get(machine);
  if (known !== undefined) return known;
  const definition = JSON.stringify(machines[machine].config, (_, value: unknown) =>
    typeof value === 'function' ? { type: value.name } : value,
  );
  definitions.set(machine, definition);
  return definition;
}
