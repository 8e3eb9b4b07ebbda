import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../actors/settings/last-good-settings.ts';

const textOf = (file: string): string =>
  readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('the examples', () => {
  it("read the remote server's port from the variable that the start script sets", () => {
    const settings = parse(textOf('examples/troupe.json')) as {
      mcpServers: { remote: { url: string } };
    };
    const [, name] = textOf('scripts/start.ts').match(/process\.env\['(\w+)'\] = /) ?? [];
    expect(settings.mcpServers.remote.url).toContain(`:\${${name}:-`);
  });

  it("declare the servers in the README's picture and have no problems", async () => {
    const projectRoot = fileURLToPath(new URL('../../examples', import.meta.url));
    const { settings } = await readSettings({
      projectRoot,
      files: [
        { file: path.join(projectRoot, '.mcp.json'), scope: 'project' },
        { file: path.join(projectRoot, 'troupe.json'), scope: 'config' },
      ],
    });
    expect(settings.problems).toEqual([]);
    const picture = textOf('docs/pictures/status-table.svg');
    const shown = [...picture.matchAll(/>(\w+)<\/tspan> <tspan[^>]*fill[^>]*>\w+</gu)];
    expect(settings.servers.map(({ name }) => name).toSorted()).toEqual(
      shown.map(([, name]) => name),
    );
  });
});
