import { describe, expect, it } from 'vitest';
import { createCommandTroupe as createTroupe } from '../../../src/runtime/assembly/create-troupe.ts';

describe('the option sources', () => {
  it('shows a list when it is something else', () => {
    expect(() => createTroupe({ sources: 'troupe.json' as never })).toThrow("['troupe.json']");
  });
});
