import { describe, expect, it } from 'vitest';
import { withDashes } from '../../../src/cli/program.ts';

const read = (line: string): string => withDashes(line.split(' ')).join(' ');

describe('troupe add without two dashes', () => {
  it.each([
    ['add x npx -y P', 'add x -- npx -y P'],
    ['add --env A=1 x npx -y P --port=3', 'add --env A=1 x -- npx -y P --port=3'],
    ['add x npx P', 'add x npx P'],
    ['add x npx P --yes --env A=1', 'add x npx P --yes --env A=1'],
    ['add x -- npx -y P --yes', 'add x -- npx -y P --yes'],
    ['add x https://a.example/mcp --yes', 'add x https://a.example/mcp --yes'],
    ['add --help', 'add --help'],
    ['call x npx -y', 'call x npx -y'],
  ])('reads %s as %s', (line, expected) => {
    expect(read(line)).toBe(expected);
  });

  it('asks whose a flag is that both could mean', () => {
    expect(() => read('add x npx -y P --scope user')).toThrow('--scope may be meant for troupe');
  });
});
