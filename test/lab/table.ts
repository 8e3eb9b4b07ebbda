/** Aligns cells in columns; columns from `rightFrom` on are right-aligned. */
export function alignedTable(
  lines: readonly (readonly string[])[],
  rightFrom = Number.POSITIVE_INFINITY,
): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const cellOf = (cell: string, column: number): string =>
    column < rightFrom ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  return lines.map((line) => line.map(cellOf).join('  ').trimEnd()).join('\n');
}
