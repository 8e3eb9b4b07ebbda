/** The commands, as the program itself lists them. */

import { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import type { CliHost } from '../../src/cli/cli-host.ts';
import { createProgram } from '../../src/cli/program.ts';
import { code, table } from './markdown.ts';

/** A host for reading the list of commands; it runs nothing. */
function hostOfNothing(): CliHost {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    argv: [],
    cwd: '.',
    env: {},
    stdin: Readable.from([]),
    stdout: nowhere,
    stderr: nowhere,
    version: '',
    loadRuntime: () => Promise.reject(new Error('the documentation runs nothing')),
    onStopSignal: () => () => undefined,
    onOutputClosed: () => undefined,
    onCrash: () => () => undefined,
  };
}

export function commandsOf(): readonly Command[] {
  return createProgram(hostOfNothing(), () => undefined).commands;
}

export function commandTable(): string {
  return table(
    ['command', 'what it does'],
    commandsOf().map((command) => [code(usageOf(command)), sentence(command.summary())]),
  );
}

function usageOf(command: Command): string {
  const names = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return ['troupe', command.name(), ...names].join(' ');
}

function sentence(summary: string): string {
  return `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`;
}
