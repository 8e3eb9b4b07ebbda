import { readFileSync } from 'node:fs';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';

const textOf = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('the examples', () => {
  it('name the port that the start script opens', () => {
    const settings = parse(textOf('examples/troupe.json')) as {
      mcpServers: { remote: { url: string } };
    };
    const [, port] = textOf('scripts/start.ts').match(/const port = (\d+);/) ?? [];
    expect(settings.mcpServers.remote.url).toBe(`http://127.0.0.1:${port}/mcp`);
  });
});
