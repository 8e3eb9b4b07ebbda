import { describe, expect, it } from 'vitest';
import { isCommandPlain } from '../../../src/policies/approvals/command-place.ts';

describe('a command', () => {
  const spec = { type: 'stdio', args: [], env: {}, cwd: '/project', era: 'auto' } as const;

  it.each([
    [{ command: 'npx' }, true],
    [{ command: 'npx', cwd: '${HOME}' }, true],
    [{ command: '/usr/bin/node', cwd: '${HOME}' }, true],
    [{ command: 'tools/run' }, true],
    [{ command: '${TOOL}' }, false],
    [{ command: '${TOOL:-npx}' }, false],
    [{ command: '${TOOL}', values: { literal: true } }, true],
    [{ command: 'tools/run', cwd: '${HOME}' }, false],
    [{ command: 'tools\\run', cwd: '${HOME}' }, false],
    [{ command: 'C:\\run', cwd: '${HOME}' }, true],
    [{ command: 'npx', env: { PATH: '/opt' } }, false],
    [{ command: 'npx', env: { Path: '/opt' } }, false],
    [{ command: '/opt/npx', env: { PATH: '/opt' } }, true],
  ] as const)('with %o is resolvable before approval: %s', (change, expected) => {
    expect(isCommandPlain({ ...spec, ...change })).toBe(expected);
  });
});
