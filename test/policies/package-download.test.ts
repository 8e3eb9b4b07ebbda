import { describe, expect, it } from 'vitest';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import { firstRunExtraMs, mayDownload } from '../../src/policies/package-download.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';

function specOf(line: string): ServerSpec {
  const [command = '', ...args] = line.split(' ');
  return { type: 'stdio', command, args, env: {}, cwd: '/', era: 'auto' };
}

const downloading = [
  'npx -y @my-org/db@1.2.3',
  '/opt/node/bin/npx db',
  'npx.cmd db',
  'cmd /c npx db',
  'npm exec db',
  'npm x db',
  'pnpm dlx db',
  'pnpx db',
  'yarn dlx db',
  'bunx db',
  'bun x db',
  '/home/me/.local/bin/uvx db',
  'uv tool run db',
  'pipx run db',
  'docker run -i --rm mcp/db',
  'docker container run -i mcp/db',
  'podman run -i mcp/db',
];
const installed = [
  'node server.js',
  'npm start',
  'docker ps',
  'docker mcp gateway run',
  './npx-like',
];

describe('a first start', () => {
  it.each(downloading)('may download with %s', (line) => {
    expect(mayDownload(specOf(line))).toBe(true);
  });

  it.each(installed)('downloads nothing with %s', (line) => {
    expect(mayDownload(specOf(line))).toBe(false);
  });

  it('downloads nothing over HTTP', () => {
    expect(mayDownload({ type: 'http', url: 'https://npx.test', headers: {}, era: 'auto' })).toBe(
      false,
    );
  });

  it.each([
    [30_000, 120_000, 90_000],
    [300_000, 120_000, 0],
    [30_000, null, 0],
    [null, 120_000, 0],
  ])('with deadlines of %s and %s gets %s ms more', (localTimeoutMs, firstRunTimeoutMs, extra) => {
    const connect = { ...defaultPolicy.connect, localTimeoutMs, firstRunTimeoutMs };
    expect(firstRunExtraMs(connect)).toBe(extra);
  });
});
