import { describe, expect, it } from 'vitest';

import type { ListedTool } from '../../../src/domain/tool.ts';
import { needsTask, toolNotes } from '../../../src/policies/tools/tool-notes.ts';

const tool = (name: string, more: Partial<ListedTool> = {}): ListedTool => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
});
const asTask = { execution: { taskSupport: 'required' } };
const long = { description: 'x'.repeat(200) };

describe('the notes on tools', () => {
  it('name tools that run only as tasks, and those with cut descriptions', () => {
    expect(needsTask(tool('any', { execution: { taskSupport: 'optional' } }))).toBe(false);
    const tools = [tool('plain'), tool('slow', { ...asTask, ...long }), tool('wordy', long)];
    expect(toolNotes(tools, 100)).toEqual([
      expect.stringMatching(/^withheld until .* supported.*: slow$/u),
      expect.stringContaining('the descriptions of 1 of its tools are cut (wordy);'),
    ]);
    expect(toolNotes(tools, 100)).toHaveLength(2);
    expect(toolNotes(tools, 1_000)).toHaveLength(1);
    expect(toolNotes([tool('plain')], 100)).toEqual([]);
  });

  it('name five tools at most', () => {
    const tools = Array.from({ length: 7 }, (_, index) => tool(`t${index}`, asTask));
    expect(toolNotes(tools, 100)[0]).toMatch(/: t0, t1, t2, t3, t4 and 2 more$/u);
  });
});
