/** `troupe add` of servers to log in to. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { runCliHere, temporaryFolder } from '../run-cli.ts';

function project() {
  const folder = temporaryFolder();
  const common = ['--project', folder, '--state-dir', path.join(folder, 'state')];
  return {
    add: (...words: string[]) => runCliHere([...common, 'add', 'db', ...words], { folder }),
    entry: () => {
      const text = readFileSync(path.join(folder, 'troupe.json'), 'utf8');
      return (JSON.parse(text) as { mcpServers: { db: unknown } }).mcpServers.db;
    },
  };
}

const url = 'https://db.example.com/mcp';

describe('troupe add, for a server to log in to', () => {
  it('writes the account and the client, and of its secret only the name', async () => {
    const { add, entry } = project();
    const flags = [
      ...['--account', 'work', '--oauth-client-id', 'me', '--oauth-callback-port', '8080'],
      ...['--oauth-client-secret-env', 'DB_SECRET', '--oauth-scope', 'read'],
      ...['--oauth-scope', 'write'],
    ];
    expect(await add(url, ...flags)).toMatchObject({ exitCode: 0 });
    expect(entry()).toEqual({
      url,
      account: 'work',
      oauth: {
        clientId: 'me',
        clientSecret: '${DB_SECRET}',
        callbackPort: 8080,
        scopes: ['read', 'write'],
      },
    });
  });

  it('writes no login without a flag for it', async () => {
    const { add, entry } = project();
    await add(url);
    expect(entry()).toEqual({ url });
  });

  it.each([
    [['--oauth-client-secret-env', 'X', url], 'add --oauth-client-id'],
    [
      [url, '--oauth-client-id', 'me', '--oauth-client-secret-env', 'planted-secret'],
      'takes the name of a variable',
    ],
    [['--account', 'work', '--', 'node'], 'are for URLs'],
    [[url, '--oauth-callback-port', '0'], 'from 1 to 65535'],
  ])('refuses %j', async (words, message) => {
    const { exitCode, stderr } = await project().add(...words);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(stderr).not.toContain('planted');
  });
});
