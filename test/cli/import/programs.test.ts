import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { programNames } from '../../../src/cli/import/program-places.ts';
import type { Problem, Scope } from '../../../src/domain/settings.ts';
import { parseSettingsFile } from '../../../src/settings/parse-settings.ts';
import { readProgramFile } from '../../support/program-files.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { programRows } from './program-rows.ts';

interface Report {
  readonly targets: readonly {
    readonly file: string;
    readonly servers: readonly { readonly name: string; readonly why?: string }[];
    readonly problems: readonly Problem[];
    readonly warnings: readonly Problem[];
  }[];
}

/** What a troupe makes of a file: its servers, and what it reports of each place. */
async function readDirectly(file: string, projectRoot: string, scope: Scope = 'config') {
  const text = readFileSync(file, 'utf8');
  const { document, problems } = await parseSettingsFile(text, {
    file,
    scope,
    projectRoot,
    // The written file is in another folder, and relative paths are copied as they are.
    folder: projectRoot,
  });
  const servers = document?.servers ?? [];
  return {
    servers: servers.flatMap(({ spec, desired, policy }) => {
      const { name, enabled, tools, startup, trust } = desired;
      const its = { name, policy, enabled, tools, startup, trust };
      return spec === undefined ? [] : [{ ...its, spec: inNoFile(spec) }];
    }),
    mcp: document?.mcp,
    problems: [
      ...problems,
      ...servers.flatMap(({ desired, withoutConsent }) => desired.invalid ?? withoutConsent ?? []),
    ],
  };
}

/** Without the file that declares its inputs, which differs. */
function inNoFile(spec: object): unknown {
  return JSON.parse(JSON.stringify(spec, (key, value: unknown) => (key === 'file' ? '' : value)));
}

/** Runs `troupe import` and reads what it wrote. */
async function imported(folder: string, argv: readonly string[]) {
  const project = path.join(folder, 'project');
  const run = await runCliHere(['import', '--json', '--project', project, ...argv], {
    folder,
    env: { HOME: path.join(folder, 'home') },
  });
  const { targets } = JSON.parse(run.stdout) as Report;
  const [target] = targets;
  if (target === undefined) throw new Error(run.stderr);
  const scope = target.file.startsWith(project) ? 'project' : 'config';
  const { servers, mcp } = await readDirectly(target.file, project, scope);
  const refusals = target.servers.flatMap(({ why }) => why ?? []);
  const said = [...target.problems, ...target.warnings];
  const isOfImport = ({ message }: Problem): boolean =>
    /looks like a secret|asks for an input/u.test(message);
  return { servers, mcp, refusals, said: placesOf(said.filter((problem) => !isOfImport(problem))) };
}

const placesOf = (problems: readonly Problem[]): readonly string[] =>
  [...new Set(problems.map(({ line, key }) => `${line} ${key}`))].toSorted();

function put(folder: string, place: string, text: string): string {
  const file = place.startsWith('~/')
    ? path.join(folder, 'home', place.slice(2))
    : path.join(folder, 'project', place);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

describe("another program's file", () => {
  it('is a fixture with a source for each program', () => {
    expect([...new Set(programRows.map(({ program }) => program))].toSorted()).toEqual(
      programNames.toSorted(),
    );
    for (const { source } of programRows) expect(URL.canParse(source)).toBe(true);
  });

  it.each(programRows)(
    'has the same meaning with --config, --from and when found: $fixture',
    async ({ fixture: name, program, place }) => {
      const folder = temporaryFolder();
      mkdirSync(path.join(folder, 'home'), { recursive: true });
      mkdirSync(path.join(folder, 'project'), { recursive: true });
      const text = readProgramFile(name).replaceAll(
        '"/project"',
        JSON.stringify(`${folder}/project`),
      );
      const file = put(folder, place, text);
      const direct = await readDirectly(file, path.join(folder, 'project'));
      expect(direct.servers).not.toEqual([]);

      const to = path.join(folder, 'to.json');
      const named = await imported(folder, ['--from', program, '--to', to]);
      const found = await imported(folder, ['--yes']);
      // What a file of the project may not set is left out of it.
      const gated = await readDirectly(file, path.join(folder, 'project'), 'project');
      for (const way of [named, found]) {
        const expected = way === found && !place.startsWith('~/') ? gated : direct;
        expect(way.servers).toEqual(expected.servers);
        expect(way.mcp).toEqual(expected.mcp);
        // An invalid entry is reported in the list of servers.
        const others = expected.problems.filter(
          ({ message }) => !way.refusals.some((why) => why.endsWith(message)),
        );
        // A list that a project's file may not have is not brought into one that is empty.
        const left = placesOf(others).filter(
          (where) => !where.endsWith(' enabledServers') || expected === direct,
        );
        expect(way.said).toEqual(left);
      }
    },
  );
});

describe('troupe import of a file with mistakes', () => {
  it.each([['--from', 'cursor'], ['--yes']])(
    'writes neither of two servers with one name: %s %s',
    async (...argv) => {
      const folder = temporaryFolder();
      const text =
        '{ "mcpServers": { "a": { "command": "x" },\n"a": { "command": "y" }, "b": { "command": "z" } } }';
      put(folder, '~/.cursor/mcp.json', text);
      put(folder, 'README.md', '');
      const to = path.join(folder, 'to.json');
      const { servers, refusals } = await imported(folder, [...argv, '--to', to]);
      expect(servers.map(({ name }) => name)).toEqual(['b']);
      expect(refusals).toEqual(
        [2, 1].map((line) => `line ${line} has this name, too; rename or remove one of the two`),
      );
    },
  );

  it('reports a server list that is not a list, and does not write it', async () => {
    const folder = temporaryFolder();
    put(
      folder,
      '~/.omp/agent/mcp.json',
      '{ "mcpServers": { "a": { "command": "x" } },\n"enabledServers": "a" }',
    );
    put(folder, 'README.md', '');
    const { mcp, said } = await imported(folder, ['--from', 'oh-my-pi']);
    expect({ mcp, said }).toEqual({ mcp: {}, said: ['2 enabledServers'] });
  });

  it('exits with 2 when it skips a file, even if it finds servers in others', async () => {
    const folder = temporaryFolder();
    put(folder, '~/.cursor/mcp.json', '{ "mcpServers": { "a": { "command": "x" } } }');
    put(folder, 'README.md', '');
    const argv = ['import', '--yes', '--project', path.join(folder, 'project')];
    const options = { folder, env: { HOME: path.join(folder, 'home') } };
    expect((await runCliHere(argv, options)).exitCode).toBe(0);
    put(folder, '~/.codex/config.toml', '[mcp_servers.a]\ncommand = "x",\n');
    const { exitCode, stderr } = await runCliHere(argv, options);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('config.toml:2: the text is not valid TOML'),
    });
  });
});
