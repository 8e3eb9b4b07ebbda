import { describe, expect, it } from 'vitest';
import { emptyCatalog } from '../../../src/domain/catalog.ts';
import {
  type CatalogEntry,
  entryName,
  readEntry,
  writeEntry,
} from '../../../src/policies/tools/stored-catalog.ts';

const owner = { server: 'db', generation: 'g1' };
const tool = { name: 'query', inputSchema: { type: 'object' } };
const catalog = { ...emptyCatalog, tools: [tool], instructions: 'Read first.', completions: true };
const entry: CatalogEntry = { ...owner, listedAt: 1, catalog };
const modern: CatalogEntry['era'] = {
  verdict: { kind: 'modern', discover: {} } as NonNullable<CatalogEntry['era']>['verdict'],
  at: 2,
};

/** Reads a stored entry after an edit of its text. */
function readAfter(edit: (text: string) => string, its: CatalogEntry = entry) {
  return readEntry(edit(writeEntry(its).text), owner);
}
/** Stores a catalog as another program might, with a matching digest. */
function readAs(stored: object) {
  const written = writeEntry({ ...entry, catalog: stored as CatalogEntry['catalog'] });
  return readEntry(written.text, owner);
}

describe('a stored catalog', () => {
  it.each<[string, CatalogEntry]>([
    ['without an era', entry],
    ['with the legacy era', { ...entry, era: { verdict: { kind: 'legacy' }, at: 2 } }],
    ['with a modern era', { ...entry, era: modern }],
    ['without some lists', { ...entry, catalog: { ...catalog, unlisted: ['prompts'] } }],
    ['with nothing in it', { ...entry, catalog: emptyCatalog }],
  ])('is read as it was written %s', (_what, written) => {
    expect(readEntry(writeEntry(written).text, owner)).toEqual(written);
  });

  it.each<[string, (text: string) => string, string]>([
    ['is truncated', (text) => text.slice(0, -3), 'not JSON'],
    ['is a list', () => '[]', 'not an object'],
    ['belongs to another server', (text) => text.replace('"db"', '"web"'), 'another server'],
    ['belongs to another generation', (text) => text.replace('"g1"', '"g2"'), 'another server'],
    ['has no date', (text) => text.replace('"listedAt"', '"was"'), 'missing'],
    ['has no catalog', (text) => text.replace('"catalog":{', '"was":{'), 'missing'],
    ['was altered', (text) => text.replace('query', 'qvery'), 'its digest'],
    [
      'is nested too deeply',
      (text) => text.replace('"catalog":{', `"catalog":{"a":${'['.repeat(1e5)}${']'.repeat(1e5)},`),
      'too deeply',
    ],
  ])('is damaged when it %s', (_what, edit, why) => {
    expect(readAfter(edit)).toContain(why);
  });

  it('is absent when another version wrote it', () => {
    expect(readAfter((text) => text.replace('"version":1', '"version":2'))).toBeUndefined();
  });

  it.each([
    ['null', 'null'],
    ['no date', '{"verdict":{"kind":"legacy"}}'],
    ['no verdict', '{"at":2}'],
    ['an unknown verdict', '{"at":2,"verdict":{"kind":"later"}}'],
    ['a modern verdict without its answer', '{"at":2,"verdict":{"kind":"modern"}}'],
  ])('has no era when that has %s', (_what, era) => {
    expect(readAfter((text) => text.replace('"catalog":', `"era":${era},"catalog":`))).toEqual(
      entry,
    );
  });

  it('contains only what a server may announce', () => {
    const bad = { ...tool, name: 'bad\u001b[2J' };
    expect(readAs({ ...catalog, tools: [tool, bad] })).toEqual(entry);
    expect(readAs({ ...catalog, instructions: 'x'.repeat(20_000) })).not.toHaveProperty(
      'catalog.instructions',
    );
    const text = writeEntry(entry).text.replace(/"digest":"\w+"/u, '"digest":""');
    expect(readEntry(text, owner)).toContain('its digest');
  });

  it('has equal digests for equal contents, whenever they were listed', () => {
    expect(writeEntry({ ...entry, listedAt: 9 }).digest).toBe(writeEntry(entry).digest);
    expect(writeEntry({ ...entry, era: modern }).digest).not.toBe(writeEntry(entry).digest);
    expect(entryName(owner)).not.toBe(entryName({ ...owner, generation: 'g2' }));
  });
});
