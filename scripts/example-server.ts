/**
 * Keeps the HTTP server of the examples running: ended by somebody else, it is
 * started again, but not for ever.
 */

/** What it needs of a child process. */
export interface EndingProcess {
  once(event: 'exit', listener: () => void): unknown;
}

export interface KeptServer<Process> {
  /** Changes with every start. */
  current(): Process;
  /** From now on it stays ended. */
  end(): void;
}

/** Often enough for whoever tries what happens; a server that cannot run is let go after seconds. */
const mostRestarts = 5;
/** It takes about a second to start; faster would only fill the screen. */
const restartAfterMs = 1_000;

export interface Keeping<Process> {
  readonly start: () => Process;
  /** Hears of each end, in one line. */
  readonly say: (line: string) => void;
  /** Does something later; tests bring their own. */
  readonly later: (run: () => void, ms: number) => void;
}

/** Starts the server now, and again after each end. */
export function keepRunning<Process extends EndingProcess>({
  start,
  say,
  later,
}: Keeping<Process>): KeptServer<Process> {
  let restarts = 0;
  let isOver = false;
  const launch = (): Process => {
    const started = start();
    started.once('exit', () => {
      if (isOver) return;
      if (restarts === mostRestarts) {
        say(
          `the example HTTP server ended ${restarts + 1} times and stays ended; run npm start again`,
        );
        return;
      }
      restarts += 1;
      say(`the example HTTP server ended; starting it again (${restarts} of ${mostRestarts})`);
      later(() => {
        if (!isOver) current = launch();
      }, restartAfterMs);
    });
    return started;
  };
  let current = launch();
  return {
    current: () => current,
    end() {
      isOver = true;
    },
  };
}
