import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';
import { readEnvFile } from '../../../actors/values/env-file.ts';
import { createKeychain } from '../../../actors/values/keychain.ts';
import { createValueSource, type ValuePorts } from '../../../actors/values/source.ts';
import { resolveSpec } from '../../../actors/values/target.ts';
import type { InputRequest } from '../../../src/domain/input.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import type { Scope } from '../../../src/domain/settings.ts';
import { redact } from '../../../src/policies/text/redact.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { parseSettings } from '../../../src/settings/parse-settings.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'troupe-values-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const inputs = [
  { id: 'token', type: 'promptString', password: true },
  { id: 'zone', type: 'pickString', options: ['a', 'b'] },
];

function specOf(entry: object, projectRoot = '/', scope: Scope = 'config'): ServerSpec {
  const settings = { mcpServers: { db: { command: 'node', ...entry } }, inputs };
  const origin = { file: path.join(projectRoot, 'x.json'), scope, projectRoot };
  const server = parseSettings(JSON.stringify(settings), origin).document?.servers[0];
  if (server?.spec === undefined) throw new Error(server?.desired.invalid?.message);
  return server.spec;
}

const sourceOf = (ports: Partial<ValuePorts> = {}) =>
  createValueSource({
    clock: new VirtualClock(),
    env: { ...process.env, MY_DIR: '/nowhere' },
    projectRoot: '/',
    ask: undefined,
    processes: undefined,
    ...ports,
  });

const node = (script: string) => ({ command: [process.execPath, '-e', script] });

describe('inputs', () => {
  it('are requested once for all servers and redacted when secret', async () => {
    const asked: InputRequest[] = [];
    const ask = (request: InputRequest) => {
      asked.push(request);
      return Promise.resolve(request.id === 'token' ? 'hunter2-token' : 'a');
    };
    const source = sourceOf({ ask });
    const spec = specOf({ args: ['${input:zone}'], env: { KEYS: '${input:token}' } });
    const [values] = await Promise.all([source.find(spec, 'db'), source.find(spec, 'other')]);
    await source.find(spec, 'db');
    expect(asked.map(({ id, server, source: from }) => [id, server, from])).toEqual([
      ['zone', 'db', { file: '/x.json', scope: 'config' }],
      ['token', 'db', { file: '/x.json', scope: 'config' }],
    ]);
    const resolved = resolveSpec(spec, {}, { values });
    expect(resolved).toMatchObject({ launch: { args: ['a'], env: { KEYS: 'hunter2-token' } } });
    expect(redact('a hunter2-token', resolved.secrets)).toBe('a [redacted]');
  });

  it('are requested again only after askAgain', async () => {
    let count = 0;
    const source = sourceOf({
      ask: () => {
        count += 1;
        return Promise.resolve(count === 1 ? undefined : 'given');
      },
    });
    const spec = specOf({ args: ['${input:token}'] });
    const message = 'The input "token", which "args[0]" needs, was not given';
    await expect(source.find(spec, 'db')).rejects.toThrow(message);
    await expect(source.find(spec, 'db')).rejects.toThrow(message);
    source.askAgain();
    expect((await source.find(spec, 'db')).references.get('input:token')?.value).toBe('given');
    expect(count).toBe(2);
  });

  it.each([
    [() => Promise.reject(new Error('typed hunter2')), 'could not be asked for'],
    [() => Promise.resolve('c'), 'not one of its options'],
    [() => Promise.resolve('a\0'), 'not a string of at most'],
    [() => Promise.resolve(5 as unknown as string), 'not a string of at most'],
    [undefined, 'cannot be asked for here'],
  ])('fail with a message that omits the answer (case %#)', async (ask, message) => {
    const finding = sourceOf({ ask }).find(specOf({ args: ['${input:zone}'] }), 'db');
    const error: unknown = await finding.catch((reason: unknown) => reason);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('hunter2');
  });

  it("time out and abort the host's request", async () => {
    const clock = new VirtualClock();
    let wasTold = false;
    const ask = (_: InputRequest, { signal }: { signal: AbortSignal }) =>
      new Promise<string>(() => {
        signal.addEventListener('abort', () => {
          wasTold = true;
        });
      });
    const finding = sourceOf({ clock, ask }).find(specOf({ args: ['${input:token}'] }), 'db');
    const failed = expect(finding).rejects.toThrow('was not given within 120 seconds');
    await clock.advanceAndSettle(120_000);
    await failed;
    expect(wasTold).toBe(true);
  });

  it('are aborted when the troupe ends', async () => {
    const source = sourceOf({ ask: () => new Promise(() => {}) });
    const finding = source.find(specOf({ args: ['${input:token}'] }), 'db');
    const failed = expect(finding).rejects.toThrow('is not asked for any more');
    await source.close();
    await failed;
    await expect(source.find(specOf({ args: ['${input:zone}'] }), 'db')).rejects.toThrow(
      'any more',
    );
  });
});

describe('commands', () => {
  const find = (env: object, ports: Partial<ValuePorts> = {}) => {
    const source = sourceOf({ clock: realClock, ...ports });
    return { source, found: source.find(specOf({ env }), 'db') };
  };

  it('return their output redacted and without the trailing newline', async () => {
    const env = { A: node('console.log("from-command")') };
    const values = await find(env).found;
    const resolved = resolveSpec(specOf({ env }), {}, { values });
    expect(resolved).toMatchObject({ launch: { env: { A: 'from-command' } } });
    expect(resolved.secrets).toContain('from-command');
  });

  it('run once for concurrent requests and again for later ones', async () => {
    const counter = path.join(folder(), 'runs');
    const words = node(
      `fs.appendFileSync(${JSON.stringify(counter)}, 'x'); console.log(fs.readFileSync(${JSON.stringify(counter)}, 'utf8'))`,
    );
    const { source, found } = find({ A: words, B: words });
    expect([...(await found).commands.values()]).toEqual(['x', 'x']);
    expect([...(await source.find(specOf({ env: { A: words } }), 'db')).commands.values()]).toEqual(
      ['xx'],
    );
  });

  it.each([
    [node('console.log("leak"); process.exit(3)'), 'failed with exit code 3'],
    [node(''), 'printed nothing'],
    [node('console.log("x".repeat(70000))'), 'printed more than a value'],
    [{ command: ['/nowhere/program'] }, 'was not found on PATH'],
  ])('are named without their output when they fail (case %#)', async (words, message) => {
    const error: unknown = await find({ A: words }).found.catch((reason: unknown) => reason);
    expect(String(error)).toContain(message);
    expect(String(error)).toContain('which gives "env.A"');
    expect(String(error)).not.toContain('leak');
  });

  it('are killed at their time limit or when the troupe ends', async () => {
    const clock = new VirtualClock();
    let begun = (): void => {};
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const kept = {
      prepare: () => ({}),
      ending: () => Promise.resolve(),
      started: () => Promise.resolve(begun()),
      gone: () => {},
      descendants: () => Promise.resolve([]),
    };
    const processes = { expect: () => kept };
    const { source, found } = find(
      { A: node('setInterval(() => {}, 1000)') },
      { clock: realClock, processes },
    );
    const failed = expect(found).rejects.toThrow('did not end within 10 seconds');
    await running;
    await source.close();
    await failed;
    expect(clock.now()).toBe(0);
  });
});

describe('the keychain', () => {
  const spec = specOf({ env: { A: '${keychain:svc/me}' } });
  const find = (getPassword: () => Promise<string | null>, clock = new VirtualClock()) => {
    class AsyncEntry {
      readonly getPassword = getPassword;
    }
    return sourceOf({ clock, loadKeyring: () => Promise.resolve({ AsyncEntry }) }).find(spec, 'db');
  };

  it('returns the password and reads it again each time', async () => {
    const values = await find(() => Promise.resolve('from-keychain'));
    const resolved = resolveSpec(spec, {}, { values });
    expect(resolved).toMatchObject({ launch: { env: { A: 'from-keychain' } } });
    expect(resolved.secrets).toContain('from-keychain');
  });

  it('reports why a password is unavailable', async () => {
    await expect(find(() => Promise.resolve(null))).rejects.toMatchObject({
      message: expect.stringContaining('"svc/me", which "env.A" needs, is not in the keychain'),
      missing: { what: 'password', name: 'svc/me' },
    });
    await expect(find(() => Promise.reject(new Error('locked')))).rejects.toMatchObject({
      message: expect.stringContaining('refused or is locked'),
      missing: undefined,
    });
    const clock = new VirtualClock();
    const late = expect(find(() => new Promise(() => {}), clock)).rejects.toThrow(
      'within 120 seconds',
    );
    await clock.advanceAndSettle(120_000);
    await late;
    const absent = sourceOf({
      loadKeyring: () => Promise.reject(new Error('ERR_MODULE_NOT_FOUND')),
    });
    await expect(absent.find(spec, 'db')).rejects.toThrow('npm install @napi-rs/keyring');
  });

  it('is read through the real package', async () => {
    const keychain = createKeychain(realClock);
    const answer = await keychain.read('mcp-troupe-test', 'missing');
    expect(answer).toHaveProperty('failure');
    expect(JSON.stringify(answer)).not.toContain('npm install');
  });
});

describe('an environment file', () => {
  const read = async (root: string, entry: object, scope: Scope = 'config', project = root) => {
    const spec = specOf(entry, root, scope);
    const values = await sourceOf({ projectRoot: project }).find(spec, 'db');
    const resolved = resolveSpec(spec, { HOME: '/place' }, { values });
    return resolved.type === 'stdio'
      ? { env: resolved.launch.env, secrets: resolved.secrets }
      : undefined;
  };

  it("is read at each start, with precedence for the entry's own variables", async () => {
    const root = folder();
    writeFileSync(path.join(root, '.env'), '\ufeff# note\nA="file secret"\nB=${HOME}\nC=1\n');
    const found = await read(root, { envFile: '.env', env: { C: '2' } }, 'project');
    expect(found?.env).toEqual({ HOME: '/place', A: 'file secret', B: '${HOME}', C: '2' });
    expect(found?.secrets).toContain('file secret');
    writeFileSync(path.join(root, '.env'), 'A=rotated\n');
    expect((await read(root, { envFile: '.env' }))?.env['A']).toBe('rotated');
  });

  it('must be a UTF-8 file of limited size', async () => {
    const root = folder();
    writeFileSync(path.join(root, 'large'), `A=${'x'.repeat(262_144)}`);
    writeFileSync(path.join(root, 'binary'), Buffer.from([0x41, 0x3d, 0xff, 0xfe]));
    writeFileSync(path.join(root, 'exact'), `A=${'x'.repeat(262_142)}`);
    const failure = (envFile: string) =>
      read(root, { envFile }).catch((error: unknown) => String(error));
    expect(await failure('none')).toContain('"' + path.join(root, 'none') + '" does not exist');
    expect(await failure('.')).toContain('is not a file');
    expect(await failure('large')).toContain('larger than 256 KB');
    expect(await failure('binary')).toContain('not UTF-8 text');
    expect(await failure('exact')).toHaveProperty('env');
    expect(await failure('${MISSING}')).toContain('The variable MISSING, which "envFile" needs');
    expect(await failure('${MY_DIR}/x')).toContain('"${MY_DIR}/x" does not exist');
  });

  it.skipIf(process.platform === 'win32')(
    'cannot be a pipe or device, which could block',
    async () => {
      const root = folder();
      execFileSync('mkfifo', [path.join(root, 'pipe')]);
      await expect(read(root, { envFile: 'pipe' })).rejects.toThrow('is not a file');
      await expect(read(root, { envFile: '/dev/zero' })).rejects.toThrow('is not a file');
    },
  );

  it('must stay in its folder and cannot set variables that control what runs', async () => {
    const root = folder();
    const outside = path.join(folder(), 'secret.env');
    writeFileSync(outside, 'A=outside');
    symlinkSync(outside, path.join(root, 'link.env'));
    mkdirSync(path.join(root, 'sub'));
    writeFileSync(path.join(root, 'sub', 'in.env'), 'A=inside\nNODE_ENV=test\n');
    symlinkSync(path.join('sub', 'in.env'), path.join(root, 'inner.env'));
    const failure = (envFile: string) =>
      read(root, { envFile }, 'project').catch((error: unknown) => String(error));
    for (const file of ['link.env', outside, '../x/../..', '.'])
      expect(await failure(file)).toMatch(/leads out of the project folder|does not exist/u);
    expect(await failure('inner.env')).toMatchObject({ env: { A: 'inside', NODE_ENV: 'test' } });
    expect((await read(root, { envFile: 'link.env' }))?.env['A']).toBe('outside');
    for (const name of [
      'NODE_OPTIONS',
      'LD_PRELOAD',
      'npm_config_registry',
      'PYTHONPATH',
      'Path',
    ]) {
      writeFileSync(path.join(root, 'bad.env'), `B=1\n${name}=x\n`);
      expect(await failure('bad.env')).toContain(`sets ${name}, which decides what runs`);
      // Nor does an entry of the user's own take them from a file of the project.
      await expect(read(root, { envFile: 'bad.env' })).rejects.toThrow(`sets ${name}`);
      expect(await read(root, { envFile: 'bad.env' }, 'config', '/elsewhere')).toBeDefined();
    }
    writeFileSync(path.join(root, 'bad.env'), 'BASH_FUNC_dirname%%=() { touch pwned; }\n');
    expect(await failure('bad.env')).toContain(
      'sets "BASH_FUNC_dirname%%", which is not a plain variable name',
    );
  });

  it('is resolved without reading anything outside its folder', async () => {
    const root = folder();
    const outside = folder();
    writeFileSync(path.join(root, '.env'), 'A=1\n');
    symlinkSync(path.join(root, '.env'), path.join(root, 'absolute'));
    symlinkSync('absolute', path.join(root, 'chain'));
    symlinkSync('round', path.join(root, 'round'));
    symlinkSync(root, path.join(root, 'itself'));
    symlinkSync(outside, path.join(root, 'away'));
    symlinkSync(path.join(outside, 'missing'), path.join(root, 'dangling'));
    const over = path.join(outside, 'project');
    symlinkSync(root, over);
    const names = (file: string, within = root) =>
      readEnvFile({ path: file, within }, root, {}).then((reading) =>
        'env' in reading ? Object.keys(reading.env) : reading.failure,
      );
    expect(await names(path.join(root, 'chain'))).toEqual(['A']);
    expect(await names(path.join(over, 'chain'), over)).toEqual(['A']);
    expect(await names(path.join(root, '.env'), over)).toEqual(['A']);
    expect(await names(path.join(root, 'itself', '.env'))).toEqual(['A']);
    expect(await names(path.join(root, 'round'))).toContain('ELOOP');
    // Following the link would say that the file does not exist.
    for (const file of ['dangling', 'away/missing', 'itself'])
      expect(await names(path.join(root, file))).toContain('leads out of the project folder');
  });
});

describe('a spec', () => {
  it('needs no lookup when it has only plain strings, variables or literals', async () => {
    expect(sourceOf().isNeededFor(specOf({ env: { A: '${HOME}' } }))).toBe(false);
    expect(sourceOf().isNeededFor(specOf({ values: 'literal', env: { A: '${input:x}' } }))).toBe(
      false,
    );
    expect(sourceOf().isNeededFor({ type: 'memory', server: 'x', era: 'auto' })).toBe(false);
    const spec = specOf({ values: 'literal', env: { A: '!${HOME}' } });
    const values = await sourceOf().find(spec, 'db');
    expect(resolveSpec(spec, {}, { values })).toMatchObject({ launch: { env: { A: '!${HOME}' } } });
  });

  it('may keep references to missing variables', () => {
    const missing: string[] = [];
    const spec = specOf({ env: { A: '${NO}' } });
    const onMissing = (name: string, key: string) => missing.push(`${name} ${key}`);
    expect(
      resolveSpec(spec, {}, { onMissing: (name, key) => void onMissing(name, key) }),
    ).toMatchObject({
      launch: { env: { A: '${NO}' } },
    });
    expect(missing).toEqual(['NO env.A']);
    expect(() => resolveSpec(spec, {})).toThrow(
      'The variable NO, which "env.A" needs, is not set.',
    );
  });
});
