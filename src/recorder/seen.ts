/**
 * What the recorder keeps of each thing that happened: small objects of references to
 * data that never changes. They become records when somebody asks. None refers to an
 * actor, because whoever is referred to is never collected.
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

/** What is known of an actor at a moment. */
export interface Stand {
  readonly life: ActorLife;
  readonly nodes: readonly AnyStateNode[];
  /** Undefined for what is no chart. */
  readonly context: object | undefined;
}

export interface RunningTimer {
  readonly id: string;
  readonly ms: number;
  readonly armedAt: number;
}

/** One actor, as long as anything that is kept is about it. */
export interface ActorFile {
  readonly key: ActorKey;
  readonly id: string;
  readonly parent?: ActorKey;
  readonly machine?: MachineKey;
  readonly server?: string;
  /** Now. */
  now: Stand;
  readonly timers: Map<string, RunningTimer & { readonly event: unknown }>;
  isStarted: boolean;
  /** Before the oldest thing that is kept; undefined when it was not there by then. */
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
  /** Its context before. */
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
