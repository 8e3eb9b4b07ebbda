import { describe, expect, it } from 'vitest';
import type { ListedTool } from '../../../src/domain/tool.ts';
import { redactedTools } from '../../../src/policies/tools/schema-words.ts';

const secrets = ['hunter2-value'];
const plain: ListedTool = { name: 'plain', inputSchema: { type: 'object' } };

describe('tools with redacted secrets', () => {
  it('are the same objects if they contain no known secrets', () => {
    const telling = { ...plain, description: 'hunter2-value' };
    expect(redactedTools([plain], secrets)).toBeUndefined();
    expect(redactedTools([telling], [])).toBeUndefined();
    expect(redactedTools([plain, telling], secrets)?.[0]).toBe(plain);
  });

  it('keep their names, which calls need', () => {
    const named = { ...plain, name: 'hunter2-value' };
    expect(redactedTools([named], secrets)).toEqual([named]);
  });

  it('contain no secret anywhere else', () => {
    const telling: ListedTool = {
      name: 'telling',
      title: 'a hunter2-value',
      description: 'b hunter2-value',
      inputSchema: { type: 'object', properties: { a: { default: 'hunter2-value' } } },
      outputSchema: { type: 'object', description: 'hunter2-value' },
      annotations: { title: 'c hunter2-value', readOnlyHint: true },
    };
    expect(redactedTools([telling], secrets)).toEqual([
      {
        name: 'telling',
        title: 'a [redacted]',
        description: 'b [redacted]',
        inputSchema: { type: 'object', properties: { a: { default: '[redacted]' } } },
        outputSchema: { type: 'object', description: '[redacted]' },
        annotations: { title: 'c [redacted]', readOnlyHint: true },
      },
    ]);
  });
});
