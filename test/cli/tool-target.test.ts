import { describe, expect, it } from 'vitest';
import { toolTarget } from '../../src/cli/tool-target.ts';

const names = ['db', 'a', 'a.b', 'x.y', 'everything'];

describe('the words of a call', () => {
  it.each([
    ['db echo k=v', { server: 'db', tool: 'echo', rest: ['k=v'] }],
    ['db.echo k=v', { server: 'db', tool: 'echo', rest: ['k=v'] }],
    ['db.echo', { server: 'db', tool: 'echo', rest: [] }],
    ['db.get.row k=v', { server: 'db', tool: 'get.row', rest: ['k=v'] }],
    ['db', { server: 'db', rest: [] }],
    ['db k=v', { server: 'db', rest: ['k=v'] }],
    // The server of exactly that name wins.
    ['x.y echo', { server: 'x.y', tool: 'echo', rest: [] }],
    ['x.y k=v', { server: 'x.y', rest: ['k=v'] }],
    ['x.y.echo', { server: 'x.y', tool: 'echo', rest: [] }],
    ['a.b', { server: 'a.b', rest: [] }],
    ['a.c', { server: 'a', tool: 'c', rest: [] }],
    // No known server: the words are taken as they are, for the error about the server.
    ['nope.echo', { server: 'nope', tool: 'echo', rest: [] }],
    ['nope.echo k=v', { server: 'nope', tool: 'echo', rest: ['k=v'] }],
    ['no.pe echo k=v', { server: 'no.pe', tool: 'echo', rest: ['k=v'] }],
    ['nope echo', { server: 'nope', tool: 'echo', rest: [] }],
    // A mistyped server with a bare value.
    ['evrything.echo hi', { server: 'evrything', tool: 'echo', rest: ['hi'] }],
  ])('name server and tool: %s', (line, target) => {
    expect(toolTarget(line.split(' '), names)).toEqual(target);
  });

  it('are rejected when they may mean tools of two servers', () => {
    expect(() => toolTarget(['a.b.c'], names)).toThrow(
      'a.b.c may mean several tools; write the server and the tool as two words: a b.c, or a.b c',
    );
  });
});
