/**
 * Formats text in columns that fit a terminal.
 *
 * A table that is too wide first loses the columns that may be dropped, in their order, until the others
 * fit at their kept width. Then the widest columns are cut, down to their least width and, if that is
 * still too wide, below it.
 */

/** A cell's text; `paint` is applied after the layout, so that colour codes take no width. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

export interface Column {
  readonly title: string;
  /** Other columns are dropped before this one is cut below this width. Default: the least width. */
  readonly keptWidth?: number;
  /** Not cut below this while another column can still be cut. Default: the title's width. */
  readonly leastWidth?: number;
  /** Dropped when the table is too wide, lowest number first. Default: never. */
  readonly dropOrder?: number;
  readonly align?: 'left' | 'right';
}

export interface Table {
  readonly columns: readonly Column[];
  /** Cells in the order of the columns. */
  readonly rows: readonly (readonly Cell[])[];
}

const gap = '  ';

/** Formats a table in lines of at most `width` columns; the first line holds the titles. */
export function fitTable(
  { columns, rows }: Table,
  width: number,
  paintTitle = (text: string) => text,
): string[] {
  const measured = columns.map((column, index): Fitted => {
    const title = columnsOf(column.title);
    const natural = Math.max(title, ...rows.map((row) => columnsOf(row[index]?.text ?? '')));
    const least = Math.min(natural, column.leastWidth ?? title);
    const kept = Math.min(natural, column.keptWidth ?? least);
    return { ...column, index, width: natural, kept, least };
  });
  const shown = dropColumns(measured, width);
  narrow(shown, width, ({ kept }) => kept);
  narrow(shown, width, ({ least }) => least);
  narrow(shown, width, () => 1);
  const line = (cells: readonly Cell[]): string => {
    let text = '';
    // Written before the next cell that is not empty, so that no line ends in blanks.
    let blanks = '';
    for (const column of shown) {
      const { text: whole = '', paint = (plainText: string) => plainText } =
        cells[column.index] ?? {};
      const cut = cutTo(whole, column.width);
      const fill = ' '.repeat(column.width - columnsOf(cut));
      if (cut === '') blanks += fill + gap;
      else if (column.align === 'right') {
        text += blanks + fill + paint(cut);
        blanks = gap;
      } else {
        text += blanks + paint(cut);
        blanks = fill + gap;
      }
    }
    return text;
  };
  const titles = columns.map(({ title }) => ({ text: title, paint: paintTitle }));
  return [titles, ...rows].map(line);
}

interface Fitted extends Column {
  readonly index: number;
  /** Never more than the widest cell needs. */
  width: number;
  readonly kept: number;
  /** Never more than `kept`. */
  readonly least: number;
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, 0) + gap.length * (widths.length - 1);
}

function dropColumns(all: readonly Fitted[], width: number): readonly Fitted[] {
  const droppable = all
    .filter(({ dropOrder }) => dropOrder !== undefined)
    .sort((a, b) => (a.dropOrder ?? 0) - (b.dropOrder ?? 0));
  let shown = all;
  for (const column of droppable) {
    if (total(shown.map(({ kept }) => kept)) <= width) break;
    shown = shown.filter((each) => each !== column);
  }
  return shown;
}

/** Narrows the widest columns until the table fits, but none below its floor. */
function narrow(
  shown: readonly Fitted[],
  width: number,
  floorOf: (column: Fitted) => number,
): void {
  let excess = total(shown.map((column) => column.width)) - width;
  for (; excess > 0; excess -= 1) {
    const [widest] = shown
      .filter((column) => column.width > floorOf(column))
      .sort((a, b) => b.width - a.width);
    if (widest === undefined) return;
    widest.width -= 1;
  }
}

/** Cuts a string to at most `width` terminal columns; a cut string ends in an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  if (width <= 0) return '';
  let kept = '';
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    const next = used + columnsOf(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

let segmenter: Intl.Segmenter | undefined;

/** Creating a segmenter takes longer than the rest of most commands. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return segmenter.segment(text);
}

// One column each: ASCII, Latin letters and signs without the soft hyphen, dashes, quotes and the ellipsis.
const plain = /^[\x20-\x7e\u00a0-\u00ac\u00ae-\u02ff\u2010-\u2026]*$/u;
// East Asian wide and fullwidth characters and emoji, which take two columns; the variation selector
// requests an emoji.
const wide =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}])|\ufe0f/u;
/** Every character but combining marks. */
const drawnAlone = /[^\p{Mn}\p{Me}\p{Cf}]/gu;

/**
 * How many terminal columns a string takes. Where terminals differ, as for Indic clusters, returns the larger
 * number: a line that is too short is better than one that wraps.
 */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemesOf(text)) columns += columnsOfCluster(segment);
  return columns;
}

function columnsOfCluster(cluster: string): number {
  if (wide.test(cluster)) return 2;
  return Math.min(2, cluster.match(drawnAlone)?.length ?? 0);
}

/**
 * Wraps a string into lines of at most `width` columns. The first line starts with `head`, the others with
 * as many spaces. A word that does not fit on a line is cut.
 */
export function wrapText(text: string, width: number, head = ''): string[] {
  const indent = ' '.repeat(columnsOf(head));
  const [first = '', ...words] = text.split(' ');
  const lines: string[] = [];
  let line = head + first;
  for (const word of words) {
    if (columnsOf(`${line} ${word}`) <= width) {
      line += ` ${word}`;
    } else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].map((each) => cutTo(each, width));
}
