import { describe, expect, it } from 'vitest';
import { entries, layer, merged } from '../layer.ts';

const of = (scope: Parameters<typeof layer>[0], ledger: unknown) =>
  layer(scope, entries({ db: 'srv' }, { ledger }));

describe('"ledger" in settings', () => {
  it('is off by default and when it is false', () => {
    expect(merged([layer('user', entries({ db: 'srv' }))])).not.toHaveProperty('ledger');
    expect(merged([of('user', true), of('config', false)])).not.toHaveProperty('ledger');
  });

  it('records digests, in four files of 16 MB, unless an object says otherwise', () => {
    const usual = { arguments: 'digest', maxBytes: 16_777_216, files: 4 };
    expect(merged([of('user', true)]).ledger).toEqual(usual);
    expect(merged([of('user', { arguments: 'full' })]).ledger).toEqual({
      ...usual,
      arguments: 'full',
    });
  });

  it('is taken from the last of the own files that has the key', () => {
    const layers = [of('user', { files: 2 }), of('config', { maxBytes: 65_536 })];
    expect(merged(layers).ledger).toMatchObject({ maxBytes: 65_536, files: 4 });
  });

  it.each(['project', 'workspace', 'local', 'plugin'] as const)(
    'is ignored in a %s file',
    (scope) => {
      const layers = [of('user', true), of(scope, { arguments: 'full' })];
      expect(merged(layers).ledger).toMatchObject({ arguments: 'digest' });
      expect(layers[1]?.problems[0]?.message).toContain('ignored');
    },
  );

  it.each([
    ['another value', 'yes', 'mcp.ledger', 'write true'],
    ['another kind of arguments', { arguments: 'all' }, 'mcp.ledger', '"digest" or "full"'],
    ['text for a number', { files: '4' }, 'mcp.ledger', 'write 4'],
    ['too many files', { files: 101 }, 'mcp.ledger.files', 'from 1 to 100'],
    ['too small files', { maxBytes: 10 }, 'mcp.ledger.maxBytes', 'from 65536'],
    ['a misspelt key', { argument: 'full' }, 'mcp.ledger.argument', 'did you mean "arguments"?'],
  ])('reports %s with the remedy', (_words, written, key, message) => {
    const { document, problems } = of('user', written);
    expect(problems).toMatchObject([{ key, message: expect.stringContaining(message) }]);
    expect(document?.mcp.ledger).toBeUndefined();
  });
});
