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
  table: Table,
  width: number,
  paintTitle = (text: string) => text,
): string[] {
  const all = widthsOf(table);
  const shown = chooseColumns(table, all, width);
  const widths = fitWidths(
    shown.map((index) => all[index] ?? { natural: 0, kept: 0, least: 0 }),
    width,
  );
  const line = (cells: readonly Cell[]): string => {
    let text = '';
    let blanks = '';
    shown.forEach((index, place) => {
      const cell = cells[index] ?? { text: '' };
      const cut = cutTo(cell.text, widths[place] ?? 0);
      const fill = ' '.repeat((widths[place] ?? 0) - columnsOf(cut));
      const painted = cell.paint === undefined ? cut : cell.paint(cut);
      const right = table.columns[index]?.align === 'right';
      if (cut === '') {
        blanks += fill + gap;
        return;
      }
      text += blanks + (right ? fill + painted : painted);
      blanks = (right ? '' : fill) + gap;
    });
    return text;
  };
  const titles = table.columns.map((column) => ({ text: column.title, paint: paintTitle }));
  return [line(titles), ...table.rows.map(line)];
}

interface Width {
  readonly natural: number;
  /** Never more than `natural`. */
  readonly kept: number;
  /** Never more than `kept`. */
  readonly least: number;
}

function widthsOf(table: Table): readonly Width[] {
  return table.columns.map((column, index) => {
    const title = columnsOf(column.title);
    const natural = Math.max(title, ...table.rows.map((row) => columnsOf(row[index]?.text ?? '')));
    const least = Math.min(natural, column.leastWidth ?? title);
    return { natural, kept: Math.min(natural, column.keptWidth ?? least), least };
  });
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, 0) + gap.length * (widths.length - 1);
}

function chooseColumns(table: Table, widths: readonly Width[], width: number): number[] {
  const shown = table.columns.map((_, index) => index);
  const droppable = shown
    .filter((index) => table.columns[index]?.dropOrder !== undefined)
    .sort((a, b) => (table.columns[a]?.dropOrder ?? 0) - (table.columns[b]?.dropOrder ?? 0));
  for (const index of droppable) {
    if (total(shown.map((each) => widths[each]?.kept ?? 0)) <= width) break;
    shown.splice(shown.indexOf(index), 1);
  }
  return shown;
}

function fitWidths(chosen: readonly Width[], width: number): number[] {
  const fitted = chosen.map((each) => each.natural);
  const narrow = (floors: readonly number[]): void => {
    for (let excess = total(fitted) - width; excess > 0; excess -= 1) {
      const widest = widestAbove(fitted, floors);
      if (widest === undefined) break;
      fitted[widest] = (fitted[widest] ?? 0) - 1;
    }
  };
  narrow(chosen.map((each) => each.kept));
  narrow(chosen.map((each) => each.least));
  narrow(chosen.map(() => 1));
  return fitted;
}

function widestAbove(widths: readonly number[], floors: readonly number[]): number | undefined {
  let best: number | undefined;
  widths.forEach((each, place) => {
    if (each <= (floors[place] ?? 0)) return;
    if (best === undefined || each > (widths[best] ?? 0)) best = place;
  });
  return best;
}

/** Cuts a text to at most `width` terminal columns; a cut text ends in an ellipsis. */
export function cutTo(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  if (width <= 0) return '';
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = used + columnsOf(segment);
    if (next > width - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const plain = /^[\x20-\x7e]*$/;
// East Asian wide and fullwidth characters and emoji, which take two columns; the variation selector
// requests an emoji.
const wide =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}])|\ufe0f/u;
/** Every character but combining marks. */
const drawnAlone = /[^\p{Mn}\p{Me}\p{Cf}]/gu;

/**
 * How many terminal columns a text takes. Where terminals differ, as for Indic clusters, returns the larger
 * number: a line that is too short is better than one that wraps.
 */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += columnsOfCluster(segment);
  return columns;
}

function columnsOfCluster(cluster: string): number {
  if (wide.test(cluster)) return 2;
  return Math.min(2, cluster.match(drawnAlone)?.length ?? 0);
}

/**
 * Wraps a text into lines of at most `width` columns. The first line starts with `head`, the others with
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
