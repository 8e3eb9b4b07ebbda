import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createInputPrompt } from '../../../src/cli/ask/input.ts';
import type { CliHost } from '../../../src/cli/cli-host.ts';
import { Output } from '../../../src/cli/show/output.ts';
import type { InputRequest } from '../../../src/domain/input.ts';

function terminal({ isTTY = true, json = false } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const host = { stdin, stderr, stdout: stderr, env: {} } as unknown as CliHost;
  const story: string[] = [];
  let shown = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const prompt = createInputPrompt(
    { host, output: new Output(host, json) },
    {
      hold: () => {
        story.push('hold');
        return () => story.push('release');
      },
      onInterrupt: () => story.push('interrupt'),
    },
  );
  const ask = (request: Partial<InputRequest>, signal = new AbortController().signal) => {
    if (prompt === undefined) throw new Error('no prompt at this terminal');
    const whole = {
      id: 'token',
      type: 'promptString',
      password: false,
      server: 'db',
      source: { scope: 'config', file: '/x' },
    } as const;
    return prompt({ ...whole, ...request }, { signal });
  };
  return { stdin, prompt, ask, story, shown: () => shown };
}

describe('an input prompt', () => {
  it('returns the typed line and does not echo a secret', async () => {
    const { ask, stdin, shown, story } = terminal();
    const secret = ask({ password: true, description: 'Of the service' });
    const plain = ask({ id: 'city', default: 'Bern' });
    stdin.write('hunter2\r');
    expect(await secret).toBe('hunter2');
    stdin.write('\r');
    expect(await plain).toBe('Bern');
    expect(shown()).toContain('server db needs the input "token" (from /x)');
    expect(shown()).toContain('Of the service');
    expect(shown()).toContain('(not shown, Enter skips it) > ');
    expect(shown()).toContain('(Enter for Bern) > ');
    expect(shown()).not.toContain('hunter2');
    expect(story).toEqual(['hold', 'release', 'hold', 'release']);
  });

  it('accepts an option by its number or its label', async () => {
    const { ask, stdin, shown } = terminal();
    const options = [
      { label: 'One', value: '1st' },
      { label: 'Two', value: '2nd' },
    ];
    const pick = { type: 'pickString', options } as const;
    const first = ask(pick);
    stdin.write('9\r');
    stdin.write('2\r');
    expect(await first).toBe('2nd');
    expect(shown()).toContain('  2) Two');
    expect(shown()).toContain('enter a number from 1 to 2');
    const second = ask(pick);
    stdin.write('One\r');
    expect(await second).toBe('1st');
  });

  it('returns nothing for an empty line, Ctrl-C, the end of the input or an editor command', async () => {
    const { ask, stdin, story } = terminal();
    const empty = ask({});
    stdin.write('\r');
    expect(await empty).toBeUndefined();
    expect(await ask({ type: 'command' })).toBeUndefined();
    const leave = new AbortController();
    const left = ask({}, leave.signal);
    leave.abort();
    expect(await left).toBeUndefined();
    const interrupted = ask({ password: true });
    stdin.write('hun\u0003');
    expect(await interrupted).toBeUndefined();
    expect(story).toContain('interrupt');
  });

  it('is not shown without a terminal or with --json', () => {
    expect(terminal({ isTTY: false }).prompt).toBeUndefined();
    expect(terminal({ json: true }).prompt).toBeUndefined();
  });
});
