import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyPublished } from '../../bench/published-files.ts';

describe('the copy of what is published', () => {
  let from: string;
  let to: string;

  beforeEach(async () => {
    from = await mkdtemp(join(tmpdir(), 'mcp-troupe-test-'));
    to = join(from, 'copy');
    await mkdir(join(from, 'docs/deep'), { recursive: true });
    for (const file of ['LICENSE', 'NOTES', 'docs/guide.md', 'docs/picture.svg', 'docs/deep/a.txt'])
      await writeFile(join(from, file), file);
  });

  afterEach(() => rm(from, { recursive: true, force: true }));

  const copy = async (files: readonly string[]) => {
    await writeFile(join(from, 'package.json'), JSON.stringify({ files }));
    await copyPublished(from, to, ['dist']);
    const entries = await readdir(to, { withFileTypes: true, recursive: true });
    return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort();
  };

  it('has what is named, by name or by pattern, and leaves out what is built', async () => {
    const names = await copy(['dist', 'docs/*.md', 'LICENSE']);
    expect(names).toEqual(['LICENSE', 'guide.md', 'package.json']);
  });

  it('has nothing that is left out by name', async () => {
    const names = await copy(['docs/*', '!docs/picture.svg']);
    expect(names).toEqual(['a.txt', 'guide.md', 'package.json']);
  });

  it('takes a folder with all that is in it', async () => {
    const names = await copy(['docs']);
    expect(names).toEqual(['a.txt', 'guide.md', 'package.json', 'picture.svg']);
  });

  it('fails when a named file is missing', async () => {
    await expect(copy(['CHANGELOG.md'])).rejects.toThrow('CHANGELOG.md');
    await expect(copy(['docs/*.html'])).rejects.toThrow('Nothing is named docs/*.html.');
  });
});
