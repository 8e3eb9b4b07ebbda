/** How questions are read before they are shown: printable, bounded, or refused. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readQuestion } from '../../../../actors/session/calls/question-reading.ts';
import type { QuestionBody } from '../../../../src/domain/question.ts';
import { checkForm } from '../../../../src/policies/calls/form-answer.ts';

const read = (params: unknown) => readQuestion('elicitation/create', params, ['hunter22']);

const formOf = (properties: unknown, required: unknown = []) =>
  read({ message: 'm', requestedSchema: { type: 'object', properties, required } });

function fieldsOf(body: QuestionBody | string) {
  if (typeof body === 'string' || body.kind !== 'form') throw new Error('this is no form');
  return body.fields;
}

const evil = 'a\u001b[31m\u202e\u200b\u{e0041}\r\nb';

describe("a question's message", () => {
  it('contains no control characters, bidi marks or secrets', () => {
    const body = read({
      message: `${evil} hunter22`,
      requestedSchema: { type: 'object', properties: {} },
    });
    expect(body).toMatchObject({ kind: 'form', message: 'a\nb [redacted]' });
  });

  it('is truncated to 4,096 characters', () => {
    const message = (length: number) => {
      const body = read({ message: 'x'.repeat(length), mode: 'url', url: 'https://a.example' });
      return typeof body === 'string' ? 0 : body.message.length;
    };
    expect([message(4_096), message(4_097), message(5_000_000)]).toEqual([4_096, 4_096, 4_096]);
  });

  it.each([undefined, 7, null])('must be a string: %s', (message) => {
    expect(read({ message, requestedSchema: { type: 'object', properties: {} } })).toMatch(
      /message/u,
    );
  });
});

describe("a question's metadata", () => {
  const visit = { message: 'm', mode: 'url', url: 'https://a.example' };
  const metaOf = (_meta: unknown) => {
    const body = read({ ...visit, _meta });
    return typeof body === 'string' ? body : body.meta;
  };

  it("is kept, except for the protocol's own keys and what is too long", () => {
    const meta = { 'a.example/theme': { dark: true } };
    const own = { progressToken: 1, 'io.modelcontextprotocol/related-task': { taskId: 't' } };
    expect(metaOf({ ...meta, ...own })).toEqual(meta);
    for (const none of [undefined, own, 'x', { long: 'x'.repeat(70_000) }])
      expect(metaOf(none)).toBeUndefined();
    const sampled = readQuestion(
      'sampling/createMessage',
      {
        messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
        maxTokens: 1,
        _meta: meta,
      },
      [],
    );
    expect(sampled).toMatchObject({ kind: 'sampling', meta });
  });
});

describe('a form', () => {
  it('may contain every kind of field', () => {
    const fields = fieldsOf(
      formOf(
        {
          text: { type: 'string', format: 'email', minLength: 1, title: evil, description: evil },
          odd: { type: 'string', format: 'hostname', default: 7 },
          count: { type: 'integer', minimum: 1, maximum: 9, default: 4 },
          ratio: { type: 'number', default: 'no' },
          sure: { type: 'boolean', default: true },
          one: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 7], default: 'b' },
          titled: { type: 'string', oneOf: [{ const: 'x', title: 'X' }] },
          many: {
            type: 'array',
            items: { type: 'string', enum: ['a'] },
            maxItems: 1,
            default: ['a'],
          },
          all: { type: 'array', items: { anyOf: [{ const: 'y', title: 'Y' }] } },
        },
        ['text'],
      ),
    );
    expect(Object.fromEntries(fields.map(({ name, field }) => [name, field]))).toEqual({
      text: { type: 'string', format: 'email', minLength: 1, title: 'a b', description: 'a\nb' },
      odd: { type: 'string' },
      count: { type: 'integer', minimum: 1, maximum: 9, default: 4 },
      ratio: { type: 'number' },
      sure: { type: 'boolean', default: true },
      one: {
        type: 'choice',
        choices: [
          { value: 'a', title: 'A' },
          { value: 'b', title: 'b' },
        ],
        default: 'b',
      },
      titled: { type: 'choice', choices: [{ value: 'x', title: 'X' }] },
      many: { type: 'choices', choices: [{ value: 'a', title: 'a' }], maxItems: 1, default: ['a'] },
      all: { type: 'choices', choices: [{ value: 'y', title: 'Y' }] },
    });
    expect(fields.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual(['text']);
  });

  it('is forwarded as a schema built from its validated parts', () => {
    const body = formOf({
      one: {
        type: 'string',
        enum: ['a', 'b'],
        enumNames: ['A', 'b'],
        pattern: '(a+)+$',
        $ref: 'x',
      },
      titled: { type: 'string', oneOf: [{ const: 'x', title: 'X' }] },
      plain: { type: 'string', enum: ['a'] },
      all: { type: 'array', items: { enum: ['y'] }, minItems: 1 },
      text: { type: 'string', 'x-evil': '\u202e' },
    });
    expect(body).toMatchObject({
      schema: {
        type: 'object',
        properties: {
          one: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'b'] },
          titled: { type: 'string', oneOf: [{ const: 'x', title: 'X' }] },
          plain: { type: 'string', enum: ['a'] },
          all: { type: 'array', minItems: 1, items: { type: 'string', enum: ['y'] } },
          text: { type: 'string' },
        },
        required: [],
      },
    });
    expect(JSON.stringify(body)).not.toMatch(/pattern|ref|evil/u);
  });

  const manyFields = Object.fromEntries(
    Array.from({ length: 65 }, (_, index) => [`f${index}`, { type: 'string' }]),
  );
  const manyChoices = Array.from({ length: 257 }, (_, index) => `c${index}`);
  it.each([
    ['no schema', undefined, []],
    ['more than 64 fields', manyFields, []],
    ['more than 256 choices', { a: { type: 'string', enum: manyChoices } }, []],
    ['a nested object', { a: { type: 'object', properties: {} } }, []],
    ['an untyped list', { a: { type: 'array' } }, []],
    ['no choices', { a: { type: 'string', enum: [] } }, []],
    ['a choice that is not a string', { a: { type: 'string', enum: [1] } }, []],
    ['an invisible character in a choice', { a: { type: 'string', enum: ['a\u200bb'] } }, []],
    ['an invisible character in a field name', { 'a\u202eb': { type: 'string' } }, []],
    ['a null field', { a: null }, []],
    ['a required field that does not exist', { a: { type: 'string' } }, ['b']],
    ['a required list that is not a list', { a: { type: 'string' } }, 'a'],
  ])('is refused with %s', (_what, properties, required) => {
    expect(formOf(properties, required)).toEqual(expect.any(String));
  });

  it('may have 64 fields with 256 choices each', () => {
    const choices = manyChoices.slice(1);
    const properties = Object.fromEntries(
      Object.keys(manyFields)
        .slice(1)
        .map((name) => [name, { type: 'string', enum: choices }]),
    );
    expect(fieldsOf(formOf(properties))).toHaveLength(64);
  });

  it('is read or refused quickly at one megabyte', () => {
    const huge = {
      a: { type: 'string', description: 'x'.repeat(1_000_000), default: 'y'.repeat(1_000_000) },
    };
    const [{ field } = { field: { type: 'boolean' as const } }] = fieldsOf(formOf(huge));
    expect(field).toEqual({ type: 'string', description: `${'x'.repeat(2_047)}…` });
  });

  it('is read correctly or refused, whatever it contains', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue(), (properties, required) => {
        const body = formOf(properties, required);
        if (typeof body === 'string') return;
        // Its default fits the field.
        const checked = checkForm(
          fieldsOf(body).map((each) => ({ ...each, isRequired: false })),
          {},
        );
        expect(checked).toHaveProperty('content');
      }),
    );
  });
});

describe('an address', () => {
  it.each([
    ['https://example.com/a?b=c', 'https://example.com/a?b=c'],
    ['HTTP://Example.com', 'http://example.com/'],
    // A letter that only looks like a Latin one.
    ['https://ex\u0430mple.com/', 'https://xn--exmple-4nf.com/'],
    ['https://example.com/\u202eevil', 'https://example.com/%E2%80%AEevil'],
  ])('is shown in full, as a browser reads it: %s', (url, shown) => {
    expect(read({ mode: 'url', message: 'm', url })).toMatchObject({ kind: 'url', url: shown });
  });

  it.each([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'ftp://example.com/',
    'https://bank.example@evil.example/',
    'https://user:pass@example.com/',
    '//example.com',
    '',
    7,
    `https://example.com/${'x'.repeat(8_192)}`,
  ])('is refused: %s', (url) => {
    expect(read({ mode: 'url', message: 'm', url })).toEqual(expect.any(String));
  });
});

describe('a sampling request', () => {
  const message = { role: 'user', content: { type: 'text', text: evil } };
  const sample = (params: object) =>
    readQuestion('sampling/createMessage', { messages: [message], maxTokens: 9, ...params }, []);

  it('keeps all model parameters and makes its text printable', () => {
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const body = sample({
      messages: [message, { role: 'assistant', content: [image, { type: 'text', text: 'last' }] }],
      systemPrompt: evil,
      temperature: 0.5,
      stopSequences: ['x'],
      modelPreferences: { hints: [] },
      includeContext: 'allServers',
    });
    expect(body).toEqual({
      kind: 'sampling',
      message: 'last',
      sampling: {
        messages: [
          { role: 'user', content: { type: 'text', text: 'a\nb' } },
          { role: 'assistant', content: [image, { type: 'text', text: 'last' }] },
        ],
        maxTokens: 9,
        systemPrompt: 'a\nb',
        temperature: 0.5,
        stopSequences: ['x'],
        modelPreferences: { hints: [] },
      },
    });
  });

  it.each([
    ['no messages', { messages: [] }],
    ['too many messages', { messages: Array.from({ length: 257 }, () => message) }],
    [
      'a message with an unknown role',
      { messages: [{ role: 'system', content: message.content }] },
    ],
    ['a message without content', { messages: [{ role: 'user', content: [] }] }],
    ['an unknown content type', { messages: [{ role: 'user', content: { type: 'tool_use' } }] }],
    [
      'an image without a type',
      { messages: [{ role: 'user', content: { type: 'image', data: 'A' } }] },
    ],
    ['no token limit', { maxTokens: 0 }],
    ['unannounced tools', { tools: [] }],
    [
      'more than 4 MB',
      {
        messages: [
          { role: 'user', content: { type: 'image', data: 'A'.repeat(4_200_000), mimeType: 'x' } },
        ],
      },
    ],
  ])('is refused with %s', (_what, params) => {
    expect(sample(params)).toEqual(expect.any(String));
  });
});
