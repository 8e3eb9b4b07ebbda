/**
 * Keeps the HTTP server of the examples running: when it ends it is started again, up to five times.
 */

/** The part of a child process that is used here. */
export interface EndingProcess {
  once(event: 'exit', listener: () => void): unknown;
}

export interface KeptServer<Process> {
  /** Changes with every start. */
  current(): Process;
  /** Stops restarting it. */
  end(): void;
}

/** Lets a user kill it and watch the troupe reconnect, but gives up a broken server within seconds. */
const mostRestarts = 5;
/** The server needs about a second to start; a shorter pause would only fill the screen. */
const restartAfterMs = 1_000;

export interface Keeping<Process> {
  readonly start: () => Process;
  /** Reports each end in one line. */
  readonly say: (line: string) => void;
  /** Schedules a function; replaced in tests. */
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
