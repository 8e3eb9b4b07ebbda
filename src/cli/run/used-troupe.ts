/** What a command sees of a troupe: a running one, or one that lives only as long as the command. */

import type { TroupeEventName } from '../../domain/host/event.ts';
import type { TroupeError } from '../../domain/troupe-error.ts';
import type { TroupeOptions } from '../../runtime/troupe.ts';
import type { ControlClient } from '../control/control-client.ts';
import type { ControlEvent } from '../control/protocol.ts';

/** A troupe that a command can send requests to. */
export interface UsedTroupe {
  readonly request: ControlClient['request'];
  /** The connection to the running troupe; undefined for a troupe of this process. */
  readonly client?: ControlClient;
  /** Reports events of these types from now on. */
  readonly follow: (
    types: readonly TroupeEventName[],
    onEvent: (event: ControlEvent) => void,
  ) => void;
  /** Adds how to start a lasting troupe, which most next steps need. */
  readonly explained: (error: TroupeError) => TroupeError;
}

/** Resolves with the command's exit code. */
export type UseTroupe = (troupe: UsedTroupe) => Promise<number>;

/** What starts a troupe for one command: its options, the server that it is for, and what uses it. */
export type OneOff = readonly [
  { readonly server: string | undefined; readonly options: TroupeOptions },
  explained: UsedTroupe['explained'],
  use: UseTroupe,
];
