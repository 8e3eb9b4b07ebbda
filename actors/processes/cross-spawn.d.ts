/** The one function of `cross-spawn` that is used here; others have relied on it for years, under this name. */
declare module 'cross-spawn' {
  interface Parsed {
    readonly command: string;
    readonly args: readonly string[];
    readonly options: { readonly windowsVerbatimArguments?: boolean };
    /** Where the command was found; absent = nowhere. */
    readonly file?: string | undefined;
  }

  const crossSpawn: {
    /** Says what Windows is to be told to start; on other systems, what it was given. */
    _parse(
      command: string,
      args: readonly string[],
      options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
    ): Parsed;
  };
  export default crossSpawn;
}
