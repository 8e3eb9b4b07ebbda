import { describe, expect, it } from 'vitest';

import { parseSettings } from '../../src/settings/parse-settings.ts';
import { badEntries, command, textWith } from './bad-entry-rows.ts';

const origin = { file: '/settings/troupe.json', scope: 'config', projectRoot: '/project' } as const;

const url = '"url": "https://host/mcp"';

describe('a bad entry', () => {
  it.each(badEntries)(
    'is rejected for %s, with its position and a remedy',
    (_what, fields, key, line, next) => {
      const { document, problems } = parseSettings(textWith('bad', ...fields), origin);
      const [good, bad] = document?.servers ?? [];

      expect(bad?.desired.invalid).toEqual({
        file: '/settings/troupe.json',
        line,
        key: key === '' ? 'mcpServers.bad' : `mcpServers.bad.${key}`,
        message: expect.stringContaining(next),
      });
      expect(bad?.spec).toBeUndefined();
      expect(good?.desired.invalid).toBeUndefined();
      expect(good?.spec).toBeDefined();
      expect(problems).toEqual([]);
    },
  );

  it.each(['null', '[]', '"npx"', '7'])(
    'is rejected when it is %s instead of an object',
    (entry) => {
      const text = `{ "mcpServers": {\n"bad": ${entry},\n"good": { "command": "node" } } }`;
      const [bad, good] = parseSettings(text, origin).document?.servers ?? [];
      expect(bad?.desired.invalid).toMatchObject({
        line: 2,
        key: 'mcpServers.bad',
        message: expect.stringContaining('write { "command": "npx"'),
      });
      expect(good?.desired.invalid).toBeUndefined();
    },
  );

  it.each(['', ' ', '__proto__', 'a/b', 'é', '😀', 'a\nb', '\u202edb', 'a'.repeat(101)])(
    'is rejected for its name %j and shown under a readable one',
    (name) => {
      const [, bad] = parseSettings(textWith(name, command), origin).document?.servers ?? [];
      expect(bad?.desired.name).toMatch(/^[\w.:-]{1,100}$/);
      expect(bad?.desired.invalid).toMatchObject({
        line: 4,
        message: expect.stringContaining('write 1 to 100 letters'),
      });
    },
  );

  it('is rejected for a duplicate name, with both line numbers', () => {
    const text = textWith('good', command);
    const { document } = parseSettings(text, origin);
    expect(document?.servers).toHaveLength(1);
    expect(document?.servers[0]).not.toHaveProperty('spec');
    expect(document?.servers[0]?.desired.invalid).toEqual({
      file: '/settings/troupe.json',
      line: 4,
      key: 'mcpServers.good',
      message: 'the server is already on line 3; rename or remove one of the two',
    });
  });

  it.each([
    ['before', '"a/b": { "command": "x" },\n"a_b": { "command": "node" }', 2],
    ['after', '"a_b": { "command": "node" },\n"a/b": { "command": "x" }', 3],
  ])('does not affect a server with its readable name %s it', (_where, entries, line) => {
    const { document, problems } = parseSettings(`{ "mcpServers": {\n${entries} } }`, origin);
    expect(document?.servers.map(({ desired }) => [desired.name, desired.invalid])).toEqual([
      ['a_b', undefined],
    ]);
    expect(problems).toEqual([expect.objectContaining({ line, key: 'mcpServers.a/b' })]);
  });

  it('never reveals its values in a message', () => {
    const secret = 'hunter2';
    const entries = [
      [`"command": "npx ${secret}"`],
      [`"command": " ${secret}"`],
      [`"url": "https://me:${secret}@host/"`],
      [`"url": "${secret}"`],
      [command, `"env": { "A": ["${secret}"] }`],
      [url, `"headers": { "A": "${secret}\\n" }`],
    ];
    for (const fields of entries) {
      const [, bad] = parseSettings(textWith('bad', ...fields), origin).document?.servers ?? [];
      expect(bad?.desired.invalid?.message).toBeTypeOf('string');
      expect(JSON.stringify(bad?.desired)).not.toContain(secret);
    }
  });

  it('gets a new generation when edited, but not when reformatted', () => {
    const generation = (entry: string) =>
      parseSettings(`{ "mcpServers": { "a": ${entry} } }`, origin).document?.servers[0]?.desired
        .generation;
    expect(generation('{ "command": 1, "args": [] }')).toBe(
      generation('{\n"args": [], // none\n"command": 1 }'),
    );
    expect(generation('{ "command": 1 }')).not.toBe(generation('{ "command": 2 }'));
  });

  it.each([
    ['{ "type": "sse", "url": 1 }', 'sse'],
    ['{ "type": "ws", "url": "https://host/" }', 'ws'],
    ['{ "type": "memory", "url": "https://host/" }', 'memory'],
    ['{ "type": "http" }', 'http'],
    ['{ "url": 1 }', 'http'],
    ['{ "type": "stdio", "url": "x" }', 'stdio'],
    ['null', 'stdio'],
  ])('written as %s is shown with the transport %s', (entry, transport) => {
    const text = `{ "mcpServers": { "a": ${entry} } }`;
    expect(parseSettings(text, origin).document?.servers[0]?.desired).toMatchObject({
      transport,
      invalid: {},
    });
  });

  it('stays disabled when it sets "enabled" to false', () => {
    const [, bad] =
      parseSettings(textWith('bad', '"enabled": false'), origin).document?.servers ?? [];
    expect(bad?.desired).toMatchObject({ enabled: false, invalid: {} });
  });
});
