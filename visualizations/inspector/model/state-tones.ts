/** How the states look: six tones, each with a mark of its own, so that colour never stands alone. */

import type { ServerState } from '../../../src/domain/server-state.ts';

export type Tone = 'good' | 'busy' | 'waiting' | 'person' | 'bad' | 'quiet';

export const toneOf: Readonly<Record<ServerState, Tone>> = {
  disabled: 'quiet',
  blocked: 'person',
  dormant: 'quiet',
  queued: 'busy',
  connecting: 'busy',
  loadingTools: 'busy',
  ready: 'good',
  degraded: 'waiting',
  backingOff: 'waiting',
  authRequired: 'person',
  suspended: 'bad',
  failed: 'bad',
  stopping: 'busy',
  stopped: 'quiet',
};
