/** Runs a command line in this process, with recorded output and the test's own troupe. */

import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { CliHost, StopSignal, TerminalStream } from '../../src/cli/cli-host.ts';
import { runLine } from '../../src/cli/fast-start.ts';
import type { Troupe, TroupeOptions } from '../../src/runtime/troupe.ts';

export interface CliRun {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The options of each troupe that was created. */
  readonly created: readonly TroupeOptions[];
}

export interface CliSetting {
  readonly folder: string;
  readonly troupe?: Troupe;
  readonly stdin?: string | Readable;
  readonly env?: Readonly<Record<string, string>>;
  /** Makes stdout and stderr terminals of this width. Default: no terminals. */
  readonly columns?: number;
  /** Height of those terminals. Default: unknown. */
  readonly rows?: number;
  readonly openFile?: (file: string) => Promise<boolean>;
  /** Default: as `troupe` runs a line. */
  readonly runner?: (host: CliHost) => Promise<number>;
}

/** A temporary folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-cli-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface OngoingRun {
  readonly finished: Promise<CliRun>;
  readonly signal: (signal: StopSignal) => void;
  /** The text on stdout so far. */
  readonly printedSoFar: () => string;
  /** Stops reading stdout until the returned function is called. */
  readonly stopReading: () => () => void;
  /** Bytes on stdout that were written but not read. */
  readonly unreadBytes: () => number;
  /** Resolves once stdout contains the text. */
  readonly printed: (text: string) => Promise<void>;
  /** Resolves once stderr contains the text. */
  readonly noted: (text: string) => Promise<void>;
}

export function runCliHere(argv: readonly string[], setting: CliSetting): Promise<CliRun> {
  return startCliHere(argv, setting).finished;
}

export function startCliHere(argv: readonly string[], setting: CliSetting): OngoingRun {
  const { columns, rows } = setting;
  const terminal =
    columns === undefined ? {} : { isTTY: true, columns, ...(rows === undefined ? {} : { rows }) };
  const out = remember(terminal);
  const err = remember(terminal);
  const created: TroupeOptions[] = [];
  const signals = new Set<(signal: StopSignal) => void>();
  const host: CliHost = {
    argv,
    cwd: setting.folder,
    env: { MCP_TROUPE_HOME: path.join(setting.folder, 'state'), ...setting.env },
    stdin: setting.stdin instanceof Readable ? setting.stdin : Readable.from([setting.stdin ?? '']),
    stdout: out.stream,
    stderr: err.stream,
    version: '1.2.3',
    managedSettings: path.join(setting.folder, 'managed.json'),
    loadRuntime: () =>
      Promise.resolve((options) => {
        created.push(options);
        if (setting.troupe === undefined) throw new Error('no troupe was expected');
        return setting.troupe;
      }),
    onStopSignal(listener) {
      signals.add(listener);
      return () => void signals.delete(listener);
    },
    onOutputClosed: () => undefined,
    onCrash: () => () => undefined,
    ...(setting.openFile === undefined ? {} : { openFile: setting.openFile }),
  };
  const { runner = runLine } = setting;
  const finished = runner(host).then((exitCode) => ({
    exitCode,
    stdout: out.text(),
    stderr: err.text(),
    created,
  }));
  return {
    finished,
    signal: (signal) => {
      for (const listener of signals) listener(signal);
    },
    printedSoFar: () => out.text(),
    stopReading: () => {
      out.stream.pause();
      return () => void out.stream.resume();
    },
    unreadBytes: () => out.stream.writableLength,
    printed: (text) => out.holds(text),
    noted: (text) => err.holds(text),
  };
}

function remember(terminal: Pick<TerminalStream, 'isTTY' | 'columns' | 'rows'>) {
  const stream = Object.assign(new PassThrough(), terminal);
  let text = '';
  const waiting = new Set<() => void>();
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
    for (const look of waiting) look();
  });
  return {
    stream,
    text: () => text,
    holds: (sought: string) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (!text.includes(sought)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}
