import { describe, expect, it } from 'vitest';

import { lossOf, withEvidence } from '../../../src/policies/failures/loss-evidence.ts';

describe('the loss of a session', () => {
  it('has a message even if the session ended without a failure', () => {
    expect(lossOf({ failure: null })).toEqual({
      kind: 'transport',
      message: 'The session closed without a reason.',
    });
  });

  it('keeps its own details and adds those of the process', () => {
    const loss = { kind: 'crashed', message: 'It ended.', exitCode: 3 } as const;
    const evidence = { exitCode: 1, stderrTail: ['no key'] };
    expect(withEvidence(loss, { evidence })).toEqual({ ...loss, stderrTail: ['no key'] });
  });
});
