/**
 * The one `cross-spawn` function used here; other packages have relied on it under this name for
 * years.
 */
declare module 'cross-spawn' {
  interface Parsed {
    readonly command: string;
    readonly args: readonly string[];
    readonly options: { readonly windowsVerbatimArguments?: boolean };
    /** Where the command was found; absent if it was not found. */
    readonly file?: string | undefined;
  }

  const crossSpawn: {
    /** Returns what to start on Windows; on other systems, returns its arguments. */
    _parse(
      command: string,
      args: readonly string[],
      options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
    ): Parsed;
  };
  export default crossSpawn;
}
