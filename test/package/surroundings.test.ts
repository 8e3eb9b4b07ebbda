import { describe, expect, it, vi } from 'vitest';
import { createActor, createMachine } from 'xstate';

/** Only the development build warns about events to stopped actors. */
function buildOfXState(): 'development' | 'production' {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  createActor(createMachine({})).start().stop().send({ type: 'late' });
  return warn.mock.calls.length > 0 ? 'development' : 'production';
}

describe('a test run', () => {
  it("uses its script's XState build and Node version", () => {
    const mode = process.env['MODE'];
    expect(buildOfXState()).toBe(mode === 'xstate-production' ? 'production' : 'development');
    expect(process.version).toMatch(mode === 'node24' ? /^v24\./ : /^v\d+\./);
  });
});
