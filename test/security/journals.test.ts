import { describe, expect, it } from 'vitest';
import { stateValueOf } from '../../src/recorder/chart-names.ts';
import { isJournalRecord } from '../../visualizations/server/journal-reader.ts';

describe('a journal of unknown origin', () => {
  it.each(['__proto__.polluted', 'constructor.prototype.polluted', 'a.toString.polluted'])(
    'cannot reach the prototype of objects by the state %s',
    (leaf) => {
      stateValueOf([leaf]);
      expect('polluted' in {}).toBe(false);
      expect('polluted' in Object).toBe(false);
      const record = { kind: 'state', n: 1, t: 0, actor: 'x:1', life: 'active', leaves: [leaf] };
      expect(isJournalRecord(record)).toBe(false);
      expect(isJournalRecord({ ...record, leaves: ['connection.dormant'] })).toBe(true);
    },
  );

  it('keeps the values of known states', () => {
    expect(stateValueOf(['connection.engaged.queued', 'circuit.closed'])).toEqual({
      connection: { engaged: 'queued' },
      circuit: 'closed',
    });
  });
});
