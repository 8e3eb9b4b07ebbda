/**
 * The recorder's observations: small objects that refer to immutable data, converted to records on request. None
 * refers to an actor, so that actors can be garbage-collected.
 */

import type { AnyStateNode, AnyTransitionDefinition } from 'xstate';
import type {
  ActorKey,
  ActorLife,
  EventFacts,
  GoneRecord,
  MachineKey,
  ReconciledRecord,
  StatusRecord,
} from '../domain/host/inspection.ts';

/** The state of an actor at a moment. */
export interface Stand {
  readonly life: ActorLife;
  readonly nodes: readonly AnyStateNode[];
  /** Undefined for actors without a chart. */
  readonly context: object | undefined;
}

export interface RunningTimer {
  readonly id: string;
  readonly ms: number;
  readonly armedAt: number;
}

/** One actor, kept while any observation refers to it. */
export interface ActorFile {
  readonly key: ActorKey;
  readonly id: string;
  readonly parent?: ActorKey;
  readonly machine?: MachineKey;
  readonly server?: string;
  /** Its current state. */
  now: Stand;
  readonly timers: Map<string, RunningTimer & { readonly event: unknown }>;
  isStarted: boolean;
  /** Its state before the oldest kept observation; undefined when it did not exist then. */
  base: { stand: Stand; readonly timers: Map<string, RunningTimer> } | undefined;
}

interface Of {
  /** Milliseconds since the recording began. */
  readonly t: number;
}

interface OfActor extends Of {
  readonly actor: ActorFile;
}

export interface SeenActor extends OfActor {
  readonly kind: 'actor';
}

export interface SeenState extends OfActor {
  readonly kind: 'state';
  readonly stand: Stand;
  /** The previous context. */
  readonly before: object | undefined;
}

export type Seen =
  | SeenActor
  | SeenState
  | (OfActor & {
      readonly kind: 'event';
      readonly from: ActorFile | undefined;
      readonly type: string;
      readonly facts: EventFacts | undefined;
    })
  | (OfActor & {
      readonly kind: 'step';
      readonly type: string;
      readonly transitions: readonly AnyTransitionDefinition[];
    })
  | (OfActor & { readonly kind: 'ignored'; readonly type: string })
  | (OfActor & { readonly kind: 'timer'; readonly id: string; readonly ms: number })
  | (OfActor & { readonly kind: 'timerEnd'; readonly id: string; readonly fired: boolean })
  | (Of & Omit<StatusRecord, 'n'>)
  | (Of & Omit<GoneRecord, 'n'>)
  | (Of & Omit<ReconciledRecord, 'n'>);
