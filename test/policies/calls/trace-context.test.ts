import { describe, expect, it } from 'vitest';
import { isTracePart, traceContextIn } from '../../../src/policies/calls/trace-context.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('the trace context in request metadata', () => {
  it('is extracted', () => {
    const meta = {
      traceparent,
      tracestate: 'a=b',
      baggage: 'user=1',
      progressToken: 7,
      authorization: 'Bearer secret',
      __proto__: { traceparent: 'inherited' },
    };
    expect(traceContextIn(meta)).toEqual({ traceparent, tracestate: 'a=b', baggage: 'user=1' });
  });

  it.each([
    ['no metadata', undefined],
    ['other metadata', { progressToken: 1 }],
    ['values that are not strings', { traceparent: 1, tracestate: null, baggage: {} }],
    ['an empty string', { traceparent: '' }],
    ['an oversized string', { baggage: 'a'.repeat(8_193) }],
  ])('is absent from %s', (_what, meta) => {
    expect(traceContextIn(meta)).toBeUndefined();
  });

  it('may be as long as W3C allows', () => {
    const baggage = 'a'.repeat(8_192);
    expect(traceContextIn({ baggage })).toEqual({ baggage });
  });

  it('excludes all other propagator keys', () => {
    expect(isTracePart('b3', traceparent)).toBe(false);
  });
});
