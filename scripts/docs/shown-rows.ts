/** Reads tables whose last column names the tests for the other cells. */

/** A row of a table whose last cell lists the tests for the other cells. */
export interface ShownRow {
  readonly cells: readonly string[];
  /** The parts of the last cell. */
  readonly shownBy: readonly string[];
}

/** Rows whose first cell starts with a capital letter, which excludes headings. */
export function shownRowsOf(text: string): readonly ShownRow[] {
  const lines = text.split('\n').filter((line) => /^\| [A-Z]/u.test(line));
  return lines.map((line) => {
    const cells = line.split(/ ?\| ?/u).slice(1, -1);
    return { cells: cells.slice(0, -1), shownBy: cells.at(-1)?.split('<br>') ?? [] };
  });
}

/** The test in a part of a cell: its file below `test/` and its title. */
export function testNamedIn(part: string): { file: string; title: string } | undefined {
  const [, file, title] = /^`([\w./-]+\.test\.ts)` (.+)$/u.exec(part) ?? [];
  return file === undefined || title === undefined ? undefined : { file, title };
}
