import { describe, expect, it } from 'vitest';
import type { DockerGateway } from '../../actors/settings/docker-gateway.ts';
import { readSettings, type SettingsFileRef } from '../../actors/settings/last-good-settings.ts';
import type { Scope } from '../../src/domain/settings.ts';
import type { DockerFinding } from '../../src/settings/docker-gateway.ts';

const there: DockerFinding = { isThere: true };
const lacking = (lack: Extract<DockerFinding, { isThere: false }>['lack'], said = '') =>
  ({ isThere: false, lack, said }) as const;

interface Given {
  readonly finding?: DockerFinding | undefined;
  readonly variables?: readonly string[];
  readonly overlay?: Readonly<Record<string, unknown>>;
}

/** Reads texts, later ones on top, with a Docker that answers at once; says how often it was asked. */
async function read(
  texts: Readonly<Record<string, { readonly scope: Scope; readonly text: string }>>,
  { finding = there, variables = [], overlay }: Given = {},
) {
  let askedCount = 0;
  const docker: DockerGateway = {
    variables,
    finding: async () => {
      askedCount += 1;
      return finding;
    },
    checkAgain: () => {},
    settled: async () => false,
    listen: () => {},
    dispose: () => {},
  };
  const files = Object.entries(texts).map(
    ([file, { scope }]): SettingsFileRef => ({ file, scope }),
  );
  const { settings, specs } = await readSettings({
    files,
    projectRoot: '/project',
    docker,
    ...(overlay === undefined ? {} : { overlay }),
    readFile: async (file) => ({ text: texts[file]?.text ?? '' }),
    checkFolder: async () => undefined,
  });
  return { settings, specs, askedCount };
}

const mine = (text: string) => ({ '/me/troupe.json': { scope: 'config', text } }) as const;
const wanted = '{\n"mcp": {\n"dockerGateway": true } }';

describe('the setting mcp.dockerGateway', () => {
  it('adds one lazy server that goes dormant after five minutes', async () => {
    const { settings, specs } = await read(mine(wanted));
    expect(settings.problems).toEqual([]);
    expect(settings.servers).toMatchObject([
      {
        name: 'MCP_DOCKER',
        transport: 'stdio',
        enabled: true,
        startup: 'lazy',
        gated: false,
        trust: false,
        policy: { idle: { stopMs: 300_000 } },
        source: { file: '/me/troupe.json', key: 'mcp.dockerGateway', line: 3, scope: 'config' },
      },
    ]);
    expect([...specs.values()]).toEqual([
      {
        type: 'stdio',
        command: 'docker',
        args: ['mcp', 'gateway', 'run'],
        env: {},
        cwd: '/project',
        era: 'auto',
      },
    ]);
  });

  it('passes variables by name, so no value is stored', async () => {
    const { specs } = await read(mine(wanted), { variables: ['DOCKER_HOST'] });
    expect([...specs.values()]).toMatchObject([{ env: { DOCKER_HOST: '${DOCKER_HOST}' } }]);
  });

  it('stays lazy under a policy that requires every server', async () => {
    const text = '{ "mcp": { "dockerGateway": true, "policy": "dockerStrict" } }';
    const { settings } = await read(mine(text));
    expect(settings.servers).toMatchObject([
      { startup: 'lazy', policy: { startup: { required: false }, restart: { on: 'never' } } },
    ]);
  });

  it.each([
    ['no file requests it', '{ "mcp": {} }'],
    ['it is off', '{ "mcp": { "dockerGateway": false } }'],
    [
      'the user has a server with that name',
      '{ "mcp": { "dockerGateway": true }, "mcpServers": { "MCP_DOCKER": { "url": "https://d.example" } } }',
    ],
  ])('does not query Docker when %s', async (_why, text) => {
    const { settings, askedCount } = await read(mine(text));
    expect(askedCount).toBe(0);
    expect(settings.servers.map(({ transport }) => transport)).not.toContain('stdio');
    expect(settings.problems).toEqual([]);
  });

  it("takes its value from the user's last file that sets it", async () => {
    const later = (text: string) =>
      ({ ...mine(wanted), '/b.json': { scope: 'config', text } }) as const;
    const off = await read(later('{ "mcp": { "dockerGateway": false } }'));
    expect(off.settings.servers).toEqual([]);
    const silent = await read(later('{}'));
    expect(silent.settings.servers).toMatchObject([{ source: { file: '/me/troupe.json' } }]);
    const hosts = await read(mine(wanted), { overlay: { mcp: { dockerGateway: false } } });
    expect(hosts.settings.servers).toEqual([]);
  });

  it("may come from the host's settings, which have no line numbers", async () => {
    const { settings } = await read({}, { overlay: { mcp: { dockerGateway: 'auto' } } });
    const source = { key: 'mcp.dockerGateway', scope: 'api' };
    expect(settings.servers.map((server) => server.source)).toEqual([source]);
  });

  it("is ignored and reported in a folder's file", async () => {
    const { settings, askedCount } = await read({
      '/project/.mcp.json': { scope: 'project', text: wanted },
    });
    expect(askedCount).toBe(0);
    expect(settings.servers).toEqual([]);
    expect(settings.problems).toMatchObject([
      {
        file: '/project/.mcp.json',
        line: 3,
        key: 'mcp.dockerGateway',
        message: expect.stringContaining('"dockerGateway" is ignored in a project file') as string,
      },
    ]);
  });

  it("is not replaced by a folder's server with that name", async () => {
    const text = '{ "mcpServers": { "MCP_DOCKER": { "command": "evil" } } }';
    const project = { '/project/.mcp.json': { scope: 'project', text } } as const;
    for (const texts of [
      { ...mine(wanted), ...project },
      { ...project, ...mine(wanted) },
    ]) {
      const { settings } = await read(texts);
      expect(settings.servers).toMatchObject([{ source: { key: 'mcp.dockerGateway' } }]);
      expect(settings.problems).toMatchObject([{ file: '/project/.mcp.json' }]);
    }
  });

  it('obeys the allow and exclude lists like any other server', async () => {
    const text = '{ "mcp": { "dockerGateway": true, "excluded": ["MCP_DOCKER"] } }';
    const { settings } = await read(mine(text));
    expect(settings.excluded).toEqual(settings.servers.map(({ name }) => name));
  });

  it.each([['"yes"'], ['1'], ['null'], ['{}']])(
    'is disabled and reported when it is %s',
    async (value) => {
      const { settings, askedCount } = await read(mine(`{ "mcp": { "dockerGateway": ${value} } }`));
      expect(askedCount).toBe(0);
      expect(settings.servers).toEqual([]);
      expect(settings.problems).toMatchObject([
        {
          key: 'mcp.dockerGateway',
          message: '"dockerGateway" must be true, false or "auto"; write true',
        },
      ]);
    },
  );
});

describe('Docker without a gateway', () => {
  it.each([
    [
      lacking('program', 'was not found on PATH'),
      'the program "docker" was not found on PATH; install Docker, or add its folder to PATH',
    ],
    [lacking('command'), `Docker has no command "docker mcp"; install Docker's MCP plugin`],
    [
      lacking('command', "'mcp' is not a docker command."),
      `Docker has no command "docker mcp" ('mcp' is not a docker command.); install Docker's MCP plugin`,
    ],
    [
      lacking('daemon', 'Cannot connect'),
      "Docker's daemon does not answer (Cannot connect); start Docker",
    ],
    [
      lacking('time', 'docker mcp --help'),
      '"docker mcp --help" did not end within 3 seconds; run it yourself to see what it waits for',
    ],
    [
      lacking('sense', 'docker info'),
      '"docker info" printed something unexpected; check which "docker" comes first on PATH',
    ],
  ])('is reported instead of a server: %j', async (finding, words) => {
    const { settings, specs } = await read(mine(wanted), { finding });
    expect(settings.servers).toEqual([]);
    expect(specs.size).toBe(0);
    expect(settings.problems).toEqual([
      {
        file: '/me/troupe.json',
        line: 3,
        key: 'mcp.dockerGateway',
        server: 'MCP_DOCKER',
        message: `server MCP_DOCKER is not available: ${words}, then run troupe reload`,
        severity: 'warning',
      },
    ]);
  });

  it.each([
    ['program', 0],
    ['command', 0],
    ['daemon', 1],
    ['time', 1],
    ['sense', 1],
  ] as const)('with "auto" and missing "%s" causes %i problems', async (lack, count) => {
    const text = '{ "mcp": { "dockerGateway": "auto" } }';
    const { settings } = await read(mine(text), { finding: lacking(lack, 'x') });
    expect(settings.servers).toEqual([]);
    expect(settings.problems).toHaveLength(count);
  });
});
