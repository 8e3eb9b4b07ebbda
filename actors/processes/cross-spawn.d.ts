/** The one function of `cross-spawn` used here; other packages have relied on it for years under this name. */
declare module 'cross-spawn' {
  interface Parsed {
    readonly command: string;
    readonly args: readonly string[];
    readonly options: { readonly windowsVerbatimArguments?: boolean };
    /** Where the command was found; absent = nowhere. */
    readonly file?: string | undefined;
  }

  const crossSpawn: {
    /** Returns what to start on Windows; on other systems, its arguments. */
    _parse(
      command: string,
      args: readonly string[],
      options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
    ): Parsed;
  };
  export default crossSpawn;
}
