/** Notices when charts or runtime touch the time or the chance of the real machine. */

const ours =
  /[\\/](machines|actors|src[\\/](runtime|policies|domain|config))[\\/]|[\\/](xstate|rxjs)[\\/]/;

// XState stamps a delayed event with the time at which it was scheduled, and reads
// the stamp nowhere: its delays are counted by the clock that it was given.
const stampOfXState = /Object\.schedule .*[\\/]xstate[\\/]/;

export interface RealTimeTrap {
  /** What of the machine's time or chance was touched, and from where. */
  readonly catches: readonly string[];
  release(): void;
}

/** Replaces the sources of real time until it is released. They go on working for everybody else. */
export function setRealTimeTrap(): RealTimeTrap {
  const catches: string[] = [];
  const note = (what: string): void => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 3;
    const caller = new Error(what).stack?.split('\n').at(-1) ?? '';
    Error.stackTraceLimit = stackTraceLimit;
    if (ours.test(caller) && !stampOfXState.test(caller)) catches.push(`${what} ${caller.trim()}`);
  };
  const undo: (() => void)[] = [];
  const wrap = <Holder extends object>(holder: Holder, key: keyof Holder & string): void => {
    const real = holder[key] as unknown as (...args: unknown[]) => unknown;
    const wrapped = function (this: unknown, ...args: unknown[]): unknown {
      note(key);
      return real.apply(this, args);
    };
    Object.assign(holder, { [key]: wrapped });
    undo.push(() => {
      Object.assign(holder, { [key]: real });
    });
  };
  wrap(globalThis, 'setTimeout');
  wrap(globalThis, 'setInterval');
  wrap(Date, 'now');
  wrap(Math, 'random');
  wrap(performance, 'now');

  const RealDate = Date;
  class WatchedDate extends RealDate {
    constructor(...args: ConstructorParameters<DateConstructor> | []) {
      if (args.length === 0) note('new Date()');
      super(...(args as [number]));
    }
  }
  globalThis.Date = WatchedDate as DateConstructor;
  undo.push(() => {
    globalThis.Date = RealDate;
  });
  return {
    catches,
    release() {
      for (const step of undo.reverse()) step();
    },
  };
}
