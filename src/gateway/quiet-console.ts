/** Sends to stderr whatever code of others would write to the console. */
export function keepConsoleOffStdout(): () => void {
  const { log, info, debug, dir, table } = console;
  // oxlint-disable-next-line no-console
  const toStderr = (...words: readonly unknown[]): void => console.error(...words);
  Object.assign(console, {
    log: toStderr,
    info: toStderr,
    debug: toStderr,
    dir: toStderr,
    table: toStderr,
  });
  return () => {
    Object.assign(console, { log, info, debug, dir, table });
  };
}
