import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf, cutTo, fitTable } from '../../../src/cli/show/table.ts';

const cells = (...texts: string[]) => texts.map((text) => ({ text }));
const table = {
  columns: [
    { title: 'SERVER', leastWidth: 8 },
    { title: 'PID', align: 'right' as const, dropOrder: 0 },
    { title: 'ACTION', leastWidth: 10 },
  ],
  rows: [cells('everything', '41', ''), cells('db', '12345', 'troupe approve db, then look again')],
};

describe('a table', () => {
  it('makes every column as wide as its widest cell when there is room', () => {
    expect(fitTable(table, 80)).toEqual([
      'SERVER        PID  ACTION',
      'everything     41',
      'db          12345  troupe approve db, then look again',
    ]);
  });

  it('shrinks the widest column first when it is too wide', () => {
    expect(fitTable(table, 40)).toEqual([
      'SERVER        PID  ACTION',
      'everything     41',
      'db          12345  troupe approve db, t…',
    ]);
  });

  it('drops optional columns when even the minimum widths do not fit', () => {
    expect(fitTable(table, 22)).toEqual([
      'SERVER      ACTION',
      'everything',
      'db          troupe ap…',
    ]);
  });

  it('ignores colour codes in the layout', () => {
    const painted = fitTable(
      {
        columns: table.columns,
        rows: [[{ text: 'a', paint: (text) => `<${text}>` }, { text: '1' }]],
      },
      80,
    );
    expect(painted[1]).toBe('<a>         1');
  });

  it('counts wide characters and emoji as two columns and combining marks as none', () => {
    expect(columnsOf('データ')).toBe(6);
    expect(columnsOf('🎭')).toBe(2);
    expect(columnsOf('e\u0301')).toBe(1);
    expect(columnsOf('\u0301')).toBe(0);
    expect(columnsOf('❤\ufe0f')).toBe(2);
    expect(columnsOf('👩\u200d👧')).toBe(2);
    expect(columnsOf('\u1112\u1161\u11ab')).toBe(2);
    expect(columnsOf('क्ष')).toBe(2);
    expect(columnsOf('กำ')).toBe(2);
    expect(cutTo('データベース', 7)).toBe('データ…');
  });

  it('shrinks columns below their minimum rather than exceed the width', () => {
    expect(fitTable(table, 12)).toEqual(['SERV…  ACTI…', 'ever…', 'db     trou…']);
  });

  it('never exceeds the available width', () => {
    const word = fc.string({ maxLength: 60, unit: 'grapheme' });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, word, word)),
        fc.integer({ min: 10, max: 200 }),
        (rows, width) => {
          const lines = fitTable(
            { columns: table.columns, rows: rows.map((row) => cells(...row)) },
            width,
          );
          for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(width);
        },
      ),
    );
  });
});
