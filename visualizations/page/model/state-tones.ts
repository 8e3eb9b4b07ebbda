/** The tone of each state. Each tone has its own mark, so that colour is never the only difference. */

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
