import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ImageShrinker } from '../../../actors/stores/result-images.ts';
import { createResultFiles, type ResultFiles } from '../../../actors/stores/results.ts';
import type { ResultPolicy } from '../../../src/domain/policy.ts';
import type { ToolResult } from '../../../src/domain/tool.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { presets } from '../../../src/policies/presets/presets.ts';
import { type KeptFile, Results } from '../../../src/runtime/calls/results.ts';
import { call, pong, type Stage, servers, stageOf, tool } from '../stage.ts';

const text = (value: string) => ({ type: 'text', text: value });
const answer = (...content: ToolResult['content']): ToolResult => ({ content });
const key = 'mcp/www_authenticate';
const filesKey = 'mcp-troupe/files';
// Without its questions before each call.
const lenient = { preset: 'ohMyPi', approval: { perCall: false } };

async function answeredWith(stage: Stage, result: unknown, server = 'db') {
  const called = call(stage, server);
  await stage.settle();
  stage.sessions
    .of(server)
    .calls.at(-1)
    ?.answer(result as ToolResult);
  await called.promise;
  return called;
}

describe("a tool's result", () => {
  const under = (policy: unknown, more: Readonly<Record<string, unknown>> = {}) =>
    stageOf({ settings: servers({ db: { command: 'srv', policy, ...more }, web: 'srv' }) });

  it('is returned unchanged with audio, links, resources and unknown blocks', async () => {
    const stage = await under('default');
    const result = {
      content: [
        text('a'),
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
        { type: 'resource_link', uri: 'file:///../../etc/passwd', name: '../x' },
        { type: 'resource', resource: { uri: 'a:b', blob: 'not base64!' } },
        { type: 'hologram', depth: 3 },
      ],
      structuredContent: { a: 1 },
      _meta: { [key]: 'Bearer', other: 1 },
    };
    const { value } = await answeredWith(stage, result);
    expect(value?.result).toEqual(result);
    expect(value?.meta).toMatchObject({ server: 'db', tool: 'query', attempts: 1 });
  });

  it('fails only its call, as executed, when it is too large', async () => {
    const stage = await under({ result: { maxLength: 100 } });
    const other = call(stage, 'db');
    await stage.settle();
    const [waiting] = stage.sessions.of('db').calls;
    const { error } = await answeredWith(stage, answer(text('x'.repeat(101))));
    expect(error?.toJSON()).toEqual({
      code: 'RESULT_TOO_LARGE',
      server: 'db',
      tool: 'query',
      retryable: false,
      outcome: 'executed',
      message: 'query on db: The answer has more than 100 characters. It did run: ask for less.',
    });
    waiting?.answer(pong);
    await other.promise;
    expect(other.value?.result).toEqual(pong);
    expect(stage.sessions.scripts).toHaveLength(2);
    expect(stage.troupe.status('db')).toMatchObject({ state: 'ready', circuit: 'closed' });
    // Another server has limits of its own.
    const { value } = await answeredWith(stage, answer(text('x'.repeat(101))), 'web');
    expect(value?.result.content).toHaveLength(1);
  });

  it('fails its call when it is nested too deeply', async () => {
    const stage = await under({ result: { maxDepth: 4 } });
    const { error } = await answeredWith(stage, { content: [], structuredContent: { a: [[[1]]] } });
    expect(error).toMatchObject({ code: 'RESULT_TOO_LARGE', outcome: 'executed' });
    expect(error?.message).toContain('more than 4 levels');
    const fits = await answeredWith(stage, { content: [], structuredContent: { a: [[1]] } });
    expect(fits.state).toBe('done');
  });

  it('follows the current policy, not the one at the start of the call', async () => {
    const stage = await under({ result: { maxLength: 100 } });
    const called = call(stage, 'db');
    await stage.settle();
    await stage.apply(servers({ db: 'srv', web: 'srv' }));
    stage.sessions
      .of('db')
      .calls.at(-1)
      ?.answer(answer(text('x'.repeat(101))));
    await called.promise;
    expect(called.state).toBe('done');
  });

  const listing = { outputSchema: { type: 'object', properties: { n: { type: 'integer' } } } };
  it.each([
    ['matches the schema', 'default', { structuredContent: { n: 1 } }, true],
    ['does not match the schema', 'default', { structuredContent: { n: 'a' } }, false],
    ['is a list', 'default', { structuredContent: [1] }, false],
    ['belongs to an error', 'default', { structuredContent: { n: 'a' }, isError: true }, true],
    ['is missing', 'default', {}, true],
    ['violates the schema', lenient, { structuredContent: { n: 'a' } }, true],
  ])(
    'is validated when its structured content %s, under policy %j',
    async (_what, policy, rest, isKept) => {
      const stage = await under(policy);
      stage.tools.set('db', [tool('query', listing)]);
      stage.sessions.of('db').notify();
      await stage.settle();
      const given = { content: [text('a')], ...rest };
      const first = await answeredWith(stage, given);
      expect(first.value?.result).toEqual(isKept ? given : answer(text('a')));
      const only = await answeredWith(stage, { ...given, content: [] });
      const json = 'structuredContent' in rest ? JSON.stringify(rest.structuredContent) : '';
      const { result } = only.value ?? {};
      expect(result).toEqual(isKept ? { ...given, content: [] } : answer(text(json)));
      const lines = (stage.troupe.logs('db') ?? []).filter(({ line }) => line.includes('schema'));
      expect(lines).toHaveLength(isKept ? 0 : 1);
    },
  );

  it('may have structured content without an output schema', async () => {
    const stage = await under('default');
    const { state } = await answeredWith(stage, { content: [], structuredContent: { n: 'a' } });
    expect(state).toBe('done');
  });

  it('fails its call when it requires a login, unless the policy passes it on', async () => {
    const challenge = {
      ...answer(text('who are you?')),
      isError: true,
      _meta: { [key]: ['Bearer'] },
    };
    const refused = await answeredWith(await under('default'), challenge);
    expect(refused.error).toMatchObject({
      code: 'AUTH_REQUIRED',
      outcome: 'executed',
      message: 'query on db: The tool answered that it wants a login. Log in to db and call again.',
    });
    const kept = await answeredWith(await under(lenient), challenge);
    expect(kept.value?.result).toEqual(challenge);
  });

  it('is truncated with a note when the policy limits it', async () => {
    const stage = await under({ result: { textMaxLength: 3 } });
    const { value } = await answeredWith(stage, answer(text('abcdef')));
    expect(value?.result).toEqual(answer(text('abc'), text('[Cut: 3 of 6 characters are shown.]')));
  });
});

describe('shaping a result', () => {
  function stateDir(): string {
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-answers-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  interface Given {
    readonly policy?: Partial<ResultPolicy>;
    readonly files?: ResultFiles | undefined;
    readonly images?: ImageShrinker;
  }

  async function shaped(
    result: unknown,
    { policy, files, images }: Given = {},
  ): Promise<ToolResult> {
    return new Results({ resultFiles: files, images }).shape({
      result: result as ToolResult,
      server: 'db',
      tool: 'query',
      policy: { ...defaultPolicy.result, ...policy },
      outputSchema: () => undefined,
    });
  }

  const filesOf = (folder: string) => createResultFiles({ stateDir: folder, wallNow: Date.now });
  const keptBy = (result: ToolResult) => (result._meta?.[filesKey] ?? []) as readonly KeptFile[];

  it('saves the whole text to a file when it is truncated', async () => {
    const folder = stateDir();
    const policy = { textMaxLength: 3 };
    const result = await shaped(answer(text('abcd'), text('ü')), {
      policy,
      files: filesOf(folder),
    });
    const [file] = keptBy(result);
    expect(file).toEqual({
      path: expect.stringContaining(path.join(folder, 'results')),
      mimeType: 'text/plain',
      bytes: 7,
    });
    expect(readFileSync(String(file?.path), 'utf8')).toBe('abcd\nü');
    expect(result.content.at(-1)).toEqual(
      text(`[Cut: 3 of 6 characters are shown. The whole text is in ${file?.path}]`),
    );
  });

  it('saves no text when the policy says so', async () => {
    const folder = stateDir();
    const policy = { textMaxLength: 3, cutText: 'drop' } as const;
    const result = await shaped(answer(text('abcd')), { policy, files: filesOf(folder) });
    expect(result.content).toHaveLength(2);
    expect(keptBy(result)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('drops file paths named by a server', async () => {
    const forged = { [filesKey]: [{ path: '/etc/passwd' }], other: 1 };
    const result = await shaped({ ...answer(text('a')), _meta: forged });
    expect(result._meta).toEqual({ other: 1 });
    const odd = await shaped({ ...answer(text('a')), _meta: 'x' });
    expect(odd._meta).toBe('x');
  });

  const sound = { type: 'audio', data: 'AAEC', mimeType: 'audio/wav' };
  const blob = {
    type: 'resource',
    resource: { uri: 'file:///../../.bashrc', blob: '/w==', mimeType: 'text/html\u001b[2J' },
  };

  it('saves binary data to files with generated names and types', async () => {
    const folder = stateDir();
    const policy = { binaries: 'file' } as const;
    const result = await shaped(answer(sound, text('a'), blob), { policy, files: filesOf(folder) });
    const [one, other] = keptBy(result);
    expect(one).toMatchObject({ mimeType: 'audio/wav', bytes: 3 });
    expect(one?.path).toMatch(/[0-9a-f]{32}\.wav$/);
    expect(other).toMatchObject({ mimeType: 'text/html', bytes: 1 });
    expect(other?.path).toMatch(/[0-9a-f]{32}\.bin$/);
    expect([...readFileSync(String(one?.path))]).toEqual([0, 1, 2]);
    expect(result.content).toEqual([
      text(`[audio audio/wav, 3 bytes, saved to ${one?.path}]`),
      text('a'),
      text(`[blob text/html, 1 bytes, saved to ${other?.path}]`),
    ]);
    expect(readdirSync(folder)).toEqual(['results']);
  });

  it.each([
    ['there is no folder', sound, undefined],
    ['the file cannot be written', sound, { save: () => Promise.resolve(undefined) }],
    ['it is not base64', { ...sound, data: 'not base64!' }, { save: () => Promise.resolve('/x') }],
  ])('keeps binary data in the result when %s', async (_why, block, files) => {
    const result = await shaped(answer(block), { policy: { binaries: 'file' }, files });
    expect(result).toEqual(answer(block));
  });

  const image = (bytes: number) => ({
    type: 'image',
    data: Buffer.alloc(bytes).toString('base64'),
    mimeType: 'image/png',
    annotations: { priority: 1 },
  });
  const shrinkingTo = (bytes: number | undefined): ImageShrinker => ({
    shrink: () =>
      Promise.resolve(
        bytes === undefined ? undefined : { bytes: Buffer.alloc(bytes), mimeType: 'image/jpeg' },
      ),
  });

  it('replaces a large image with a smaller one', async () => {
    const policy = { imageMaxPixels: 100 };
    const result = await shaped(answer(image(90)), { policy, images: shrinkingTo(30) });
    expect(result).toEqual(answer({ ...image(30), mimeType: 'image/jpeg' }));
  });

  it.each([
    ['its size is at the limit', 60, undefined, true],
    ['it is one byte too large', 61, undefined, false],
    ['shrinking makes it small enough', 90, 60, true],
    ['shrinking does not make it small enough', 90, 61, false],
  ])('returns an image or a note when %s', async (_when, bytes, smaller, isShown) => {
    const policy = { imageMaxBytes: 60 };
    const result = await shaped(answer(image(bytes)), { policy, images: shrinkingTo(smaller) });
    expect(result.content[0]?.['type']).toBe(isShown ? 'image' : 'text');
    if (!isShown) {
      expect(result.content).toEqual([
        text(`[image image/png, ${bytes} bytes, too large to be shown]`),
      ]);
    }
  });

  it('checks only the size of an image that cannot be shrunk', async () => {
    const policy = { imageMaxPixels: 1, imageMaxBytes: 60 };
    expect(await shaped(answer(image(60)), { policy })).toEqual(answer(image(60)));
    const broken = { ...image(60), data: '!'.repeat(80) };
    expect(await shaped(answer(broken), { policy, images: shrinkingTo(1) })).toEqual(
      answer(broken),
    );
  });

  it('saves an image that it omits', async () => {
    const folder = stateDir();
    const policy = { imageMaxBytes: 60, binaries: 'file' } as const;
    const result = await shaped(answer(image(61)), { policy, files: filesOf(folder) });
    const [file] = keptBy(result);
    expect(file?.path).toMatch(/\.png$/);
    expect(readFileSync(String(file?.path))).toHaveLength(61);
  });

  it('combines all limits in the claudeCode preset', async () => {
    const folder = stateDir();
    const result = await shaped(answer(text('x'.repeat(100_001)), sound, image(3)), {
      policy: presets.claudeCode.result,
      files: filesOf(folder),
      images: shrinkingTo(undefined),
    });
    expect(keptBy(result).map(({ mimeType }) => mimeType)).toEqual(['audio/wav', 'text/plain']);
    expect(result.content.map(({ type }) => type)).toEqual(['text', 'text', 'image']);
    expect(readdirSync(path.join(folder, 'results'))).toHaveLength(2);
  });
});
