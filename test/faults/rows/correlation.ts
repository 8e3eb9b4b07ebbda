/** C: responses with wrong, duplicate or late ids. */

import type { Rows } from '../row.ts';
import { called, readyServer } from './one-server.ts';

export const correlationRows: Rows = {
  // An id as text matches the same number, because it cannot mean another request.
  'F37/string-id': called('s:string-id', { isOk: true, text: 'as text', state: 'ready' }),
  'F37/null-id': called('s:null-id (timeoutMs 800)', {
    isOk: false,
    code: ['TIMEOUT', 'SERVER_ERROR', 'BAD_RESPONSE'],
    callMs: { atMost: 2_000 },
  }),
  F38: {
    inject: 's:dup-response, 20 calls at once',
    expect: { own: 20, state: 'ready' },
    async run(stage) {
      await readyServer(stage, stage.stdio('dup-response'));
      const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`);
      const ends = await Promise.all(texts.map((text) => stage.call('bad', 'echo', { text })));
      const own = ends.filter(({ text }, n) => text === texts[n]).length;
      return { own, state: stage.status('bad').state };
    },
  },
  F40: {
    inject: 's:late-response --ms 900 (timeoutMs 300)',
    expect: { code: 'TIMEOUT', outcome: 'unknown', next: 'second', isIdNew: true, state: 'ready' },
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio('late-response', ['--ms', '900']));
      const { code, outcome } = await stage.call('bad', 'echo', { text: 'first' }, 300);
      await log.nth('late');
      const { text: next } = await stage.call('bad', 'echo', { text: 'second' });
      const ids = log.all().flatMap(({ event, id }) => (event === 'tools/call' ? [id] : []));
      return {
        code,
        outcome,
        next,
        isIdNew: new Set(ids).size === 2,
        state: stage.status('bad').state,
      };
    },
  },
  F42: called('s:error-huge, 1 MB', {
    code: 'SERVER_ERROR',
    length: { atMost: 4_400 },
    state: 'ready',
  }),
};
