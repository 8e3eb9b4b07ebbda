/** The levels of a server's log, from least to most urgent, as RFC 5424 names them. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

/** A severity of MCP log messages, from `debug` to `emergency`. */
export type LogLevel = (typeof logLevels)[number];

/** Returns whether a line is wanted; without a request, every line is. */
export function levelPasses(level: unknown, wanted: LogLevel | undefined): boolean {
  if (wanted === undefined) return true;
  const rank = logLevels.findIndex((each) => each === level);
  return rank >= logLevels.indexOf(wanted);
}
