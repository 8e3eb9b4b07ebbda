import { describe, expect, it } from 'vitest';
import {
  forwardedMeta,
  isTracePart,
  traceContextIn,
  withoutTrace,
} from '../../src/protocol/meta.ts';

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

describe("a caller's metadata for the server", () => {
  it("is everything but the protocol's own keys", () => {
    const theirs = '"locale":"de","__proto__":{"a":1},"io.modelcontextprotocolx/a":[2]';
    const ours = '"progressToken":7,"io.modelcontextprotocol/clientCapabilities":{}';
    const meta = JSON.parse(`{${ours},${theirs}}`) as Record<string, unknown>;
    expect(JSON.stringify(forwardedMeta(meta))).toBe(`{${theirs}}`);
  });

  it("gives way to the telemetry's trace", () => {
    expect(withoutTrace({ locale: 'de', traceparent, baggage: 'a=1' })).toEqual({ locale: 'de' });
  });

  it('is absent if nothing is left', () => {
    expect(forwardedMeta(undefined)).toBeUndefined();
    expect(forwardedMeta({ progressToken: 7 })).toBeUndefined();
    expect(withoutTrace({ traceparent })).toBeUndefined();
  });
});
