import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ViewSettings } from '../../../src/domain/settings.ts';
import {
  showsPrompt,
  showsResource,
  showsServer,
  showsTool,
} from '../../../src/policies/views/shown-items.ts';

function view(parts: Partial<ViewSettings> = {}): ViewSettings {
  return { name: 'review', ...parts };
}

describe('a view', () => {
  it('shows nothing without settings', () => {
    expect(showsServer(undefined, 'db')).toBe(false);
    expect(showsResource(undefined, 'db', 'file:///a')).toBe(false);
  });

  it('shows everything unless it narrows', () => {
    expect(showsServer(view(), 'db')).toBe(true);
    expect(showsTool(view(), 'db', 'query')).toBe(true);
    expect(showsPrompt(view(), 'db', 'draft')).toBe(true);
    expect(showsResource(view(), 'db', 'file:///a')).toBe(true);
  });

  it('shows nothing of a server that it leaves out', () => {
    const narrow = view({ servers: ['git*'], tools: { include: ['*'] } });
    expect(showsServer(narrow, 'github')).toBe(true);
    expect(showsTool(narrow, 'github', 'query')).toBe(true);
    expect(showsServer(narrow, 'db')).toBe(false);
    expect(showsTool(narrow, 'db', 'query')).toBe(false);
    expect(showsPrompt(narrow, 'db', 'draft')).toBe(false);
    expect(showsResource(narrow, 'db', 'file:///a')).toBe(false);
    expect(showsServer(view({ servers: [] }), 'db')).toBe(false);
  });

  it('prefers exclusion, and reads a pattern with a server for that server only', () => {
    const tools = { include: ['*_get', { server: 'db', name: '*' }], exclude: ['drop_*'] };
    const narrow = view({ tools, prompts: { exclude: [{ server: 'db', name: 'draft' }] } });
    expect(showsTool(narrow, 'web', 'page_get')).toBe(true);
    expect(showsTool(narrow, 'web', 'page_put')).toBe(false);
    expect(showsTool(narrow, 'db', 'page_put')).toBe(true);
    expect(showsTool(narrow, 'db', 'drop_get')).toBe(false);
    expect(showsPrompt(narrow, 'db', 'draft')).toBe(false);
    expect(showsPrompt(narrow, 'web', 'draft')).toBe(true);
  });
});

const encode = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16)}`).join('');

describe('a resource', () => {
  const exclude = ['file:///private/*', 'note://keys', 'file:///my%20docs/*', 'file:///größe/*'];
  const excluding = view({ resources: { exclude } });

  it.each([
    'file:///private/key',
    'FILE:///private/key',
    'file:///PRIVATE/key',
    'file://localhost/private/key',
    'file:/private/key',
    'file:///%70rivate/key',
    'file:///%2570rivate/key',
    'file:///private%2Fkey',
    'file:///public/../private/key',
    'file:///public/%2e%2e/private/key',
    'file:///public/..%2fprivate/key',
    'file:///./private//key',
    'file:///public\\..\\private\\key',
    'file:////private/key',
    'note://keys?a=1',
    'note://keys#top',
    'note://keys/',
    'NOTE://keys',
    'note://%6beys',
    'note://%ff/../keys',
    'file:///my docs/a',
    'file:///m%79 docs/a',
    'file:///gro%CC%88%C3%9Fe/a',
    'note://%2525252525252570',
  ])('is left out under each of its spellings: %s', (uri) => {
    expect(showsResource(excluding, 'files', uri)).toBe(false);
  });

  it.each(['file:///public/a', 'note://key', 'file:///privates', 'db://t?q=100%', 'x%zz', 'plain'])(
    'is shown under an address that is not excluded: %s',
    (uri) => {
      expect(showsResource(excluding, 'files', uri)).toBe(true);
    },
  );

  it('must be included in each of its spellings', () => {
    const include = ['file:///public/*', { server: 'db', name: 'db://%74/*' }];
    const narrow = view({ resources: { include } });
    expect(showsResource(narrow, 'files', 'file:///public/a%20b')).toBe(true);
    expect(showsResource(narrow, 'files', 'file:///public/../private/key')).toBe(false);
    expect(showsResource(narrow, 'files', 'file:///public/%2e%2e%2fprivate/key')).toBe(false);
    expect(showsResource(narrow, 'files', 'file:///public/{name}')).toBe(true);
    expect(showsResource(narrow, 'files', 'file:///{+path}')).toBe(false);
    expect(showsResource(narrow, 'db', 'db://t/1')).toBe(true);
    expect(showsResource(narrow, 'files', 'db://t/1')).toBe(false);
  });

  it('stays left out whatever is encoded, and however often', () => {
    const narrow = view({ resources: { exclude: ['file:///private/*'] } });
    const spelling = fc
      .array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 12, maxLength: 12 })
      .map((choices) =>
        'private/key!'.split('').map((letter, at) => {
          const [isEncoded, isUpper] = choices[at] ?? [false, false];
          const cased = isUpper ? letter.toUpperCase() : letter;
          return isEncoded ? encode(cased) : cased;
        }),
      )
      .map((letters) => letters.join(''));
    const rounds = fc.integer({ min: 0, max: 6 });
    const detour = fc.constantFrom('', './', 'a/../', 'a/b/..//../', '%2e/', 'x/%2E%2e/');
    fc.assert(
      fc.property(spelling, rounds, detour, (text, times, way) => {
        let uri = `${way}${text}`;
        for (let round = 0; round < times; round += 1) uri = uri.replaceAll('%', '%25');
        expect(showsResource(narrow, 'files', `file:///${uri}`)).toBe(false);
      }),
    );
  });

  it('is compared with many patterns, each read once', () => {
    const many = Array.from({ length: 1_100 }, (_, at) => `note://${at}`);
    const narrow = view({ resources: { exclude: many } });
    expect(showsResource(narrow, 'files', 'note://1099')).toBe(false);
    expect(showsResource(narrow, 'files', 'note://1100')).toBe(true);
    const unreadable = view({ resources: { exclude: ['note://%2525252525252561'] } });
    expect(showsResource(unreadable, 'files', 'note://a')).toBe(true);
  });
});
