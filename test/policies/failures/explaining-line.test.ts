import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { printableLine } from '../../../src/domain/data/printable.ts';
import {
  explainingLine,
  explanationInWords,
} from '../../../src/policies/failures/explaining-line.ts';

const fixtures = new URL('../../fixtures/stderr/', import.meta.url);

interface Expected {
  readonly ended: string;
  readonly explanation: string;
}

/** What real servers wrote that could not start, and the text that explains it. */
const expected = Object.entries(
  JSON.parse(readFileSync(new URL('expected.json', fixtures), 'utf8')) as Record<string, Expected>,
);

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => printableLine(line, 2_000))
    .filter((line) => line !== '');
}

describe('the explanation of a failure', () => {
  it.each(expected)('is found in %s', (file, { ended, explanation }) => {
    const lines = linesOf(readFileSync(new URL(file, fixtures), 'utf8'));
    const searchedFor = ended === 'did not answer' ? 'errorsOnly' : 'exit';
    expect(explainingLine(lines, searchedFor)).toBe(explanation);
  });

  it.each([
    ['nothing', '', undefined],
    ["Node's footer alone", '}\nNode.js v20.20.2', undefined],
    ['a last line that says something', 'loading\nout of memory', 'out of memory'],
    ['an announcement, if there is nothing else', 'listening on 80', 'listening on 80'],
    ['a plain line before an announcement', 'out of memory\nServer running', 'out of memory'],
    ['the first of several errors', 'Error: first\nError: second', 'Error: first'],
    ['an uncaught error behind others', 'Error: a\nthrow b\n^\nError: b', 'Error: b'],
    ['the text below an empty error', 'Error:\nno database', 'Error: no database'],
    ['a heading without text', 'Error:', 'Error:'],
    ['a heading above brackets', 'Error:\n{\n}\n[\nno database', 'Error:'],
    [
      'a Python exception',
      'Traceback (most recent call last):\nFile "a.py", line 1, in <module>\nmain("error: x")\nKeyError: \'TOKEN\'',
      "KeyError: 'TOKEN'",
    ],
    ['a Go panic', 'panic: no token\ngoroutine 1 [running]:', 'panic: no token'],
    [
      'an error without a package',
      'npm error code E404\nnpm error 404 Not Found - GET https://example.test/x\nnpm error A complete log of this run can be found in: /l',
      'npm error 404 Not Found - GET https://example.test/x',
    ],
    [
      'a warning beside an error',
      'npm warn deprecated x: error: old\n(node:1) Warning: error: y\nsh: 1: no-such: not found',
      'sh: 1: no-such: not found',
    ],
    [
      'a missing daemon',
      "docker: Cannot connect to the Docker daemon. Is the docker daemon running?\nRun 'docker run --help'",
      'docker: Cannot connect to the Docker daemon. Is the docker daemon running?',
    ],
    ['a time before the text', '[2026-01-02T03:04:05.006Z] ERROR: no key', 'ERROR: no key'],
    ['a line that is a time', '[2026-01-02T03:04:05.006Z] ', '[2026-01-02T03:04:05.006Z]'],
    ['a record of pino', '{"level":30,"msg":"up"}\n{"level":50,"msg":"no key"}', 'no key'],
    [
      'the error in a record of pino',
      '{"level":60,"err":{"type":"Error","message":"no key"},"msg":"Uncaught exception"}',
      'Uncaught exception: no key',
    ],
    [
      'the error in a record of zap',
      '{"level":"fatal","msg":"cannot start","error":"dial tcp: refused\\nat x"}',
      'cannot start: dial tcp: refused',
    ],
    [
      'the deepest cause in a record',
      '{"severity":"CRITICAL","message":"boom","exception":{"message":"a","cause":{"message":"no key"}}}',
      'boom: no key',
    ],
    [
      'an error that its text repeats',
      '{"level":50,"msg":"no key","err":{"message":"no key"}}',
      'no key',
    ],
    ['a record of only an error', '{"level":50,"err":{"message":"no key"}}', 'no key'],
    [
      'a record with an error that says nothing',
      '{"level":50,"msg":"boom","err":{"code":1}}',
      'boom',
    ],
    ['a record with an odd error', '{"level":50,"msg":"boom","err":7}', 'boom'],
    ['a record of winston', '{"level":"error","message":"no key"}', 'no key'],
    ['a record that only informs', '{"level":"info","msg":"up"}', 'up'],
    ['JSON that is no record', '{"a":1}', '{"a":1}'],
    ['broken JSON', '{"a":', '{"a":'],
    ['JSON that is a list', '["a"]\n{"msg":1}', '{"msg":1}'],
    [
      'the deepest cause',
      'Error: a\nat b (c:1:2) {\n[cause]: Error: d\nat e (f:1:2) {\n[cause]: TypeError [X]: g\n}',
      'Error: a (g)',
    ],
    [
      'a cause that the error names',
      'Error: a: d\nat b (c:1:2) {\n[cause]: Error: d\n}',
      'Error: a: d',
    ],
    ['a list without issues', 'Error: [\n1\n]', 'Error: ['],
    ['issues without messages', 'Error: [\n{\n"code": "x"\n}', 'Error: ['],
    ['a list that is the whole text', '[{"message":"error: no key"}]', 'error: no key'],
  ])('is, of %s', (_what, text, explanation) => {
    expect(explainingLine(linesOf(text), 'exit')).toBe(explanation);
  });

  it('is an error if the process did not end by itself', () => {
    expect(explainingLine(['Server running on stdio', 'please wait'], 'errorsOnly')).toBe(
      undefined,
    );
    expect(explainingLine(['connect ECONNREFUSED 127.0.0.1:1'], 'errorsOnly')).toBe(
      'connect ECONNREFUSED 127.0.0.1:1',
    );
  });

  it('becomes a sentence', () => {
    expect(explanationInWords({ explanation: 'no key' })).toBe(' It wrote: no key');
    expect(explanationInWords({})).toBe('');
  });
});
