import { describe, expect, it } from 'vitest';
import { errorText, partsOf, textWithNotes, wholeText } from '../../src/adapters/result-parts.ts';
import { TroupeError } from '../../src/index.ts';

const blocks = [
  { type: 'text', text: 'one' },
  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'file:///a.txt', text: 'two' } },
  { type: 'resource', resource: { uri: 'file:///x/a b.pdf?c=/d', blob: 'CCCC' } },
  { type: 'resource_link', uri: 'file:///c', name: 'c', description: 'third' },
  { type: 'hologram', depth: 3 },
];

describe('a result in parts', () => {
  it('keeps every kind of content, in order', () => {
    expect(partsOf({ content: blocks })).toEqual([
      { kind: 'text', text: 'one' },
      { kind: 'image', data: 'AAAA', mediaType: 'image/png', filename: 'image' },
      { kind: 'file', data: 'BBBB', mediaType: 'audio/wav', filename: 'audio' },
      { kind: 'text', text: 'two' },
      {
        kind: 'file',
        data: 'CCCC',
        mediaType: 'application/octet-stream',
        filename: 'a_b.pdf',
      },
      { kind: 'text', text: 'Resource file:///c (c: third)' },
      { kind: 'text', text: '{"type":"hologram","depth":3}' },
    ]);
  });

  it('uses the structured content when there is nothing else', () => {
    expect(partsOf({ content: [], structuredContent: { sum: 5 } })).toEqual([
      { kind: 'text', text: '{"sum":5}' },
    ]);
    expect(partsOf({ content: [] })).toEqual([]);
  });

  it('is a single string when all parts are text, with notes for other parts', () => {
    const parts = partsOf({ content: blocks.slice(0, 2) });
    expect(wholeText(parts)).toBeUndefined();
    expect(wholeText(partsOf({ content: [blocks[0], blocks[3]] as never }))).toBe('one\ntwo');
    expect(textWithNotes(parts)).toBe(
      'one\n[image of 3 bytes, image/png, which cannot be shown here]',
    );
  });

  it("contains the error's message", () => {
    expect(errorText(new TroupeError('TIMEOUT', 'Too late. Ask again.'))).toBe(
      'MCP error: Too late. Ask again.',
    );
    expect(errorText('odd')).toBe('MCP error: odd');
  });
});
