/** Refusals of requests for want of a token: reading them, and how often a request is repeated. */

import type { IncomingHttpHeaders } from 'node:http';

import type { Refusal } from '../../../src/domain/authorization.ts';
import { defined } from '../../../src/domain/data/defined.ts';

/** A refusal, as far as the server's answer tells. */
export type RefusedAnswer = Omit<Refusal, 'sentWith'>;

export function readRefusal(status: number, headers: IncomingHttpHeaders): RefusedAnswer {
  const challenge = headers['www-authenticate'];
  const dpopNonce = [headers['dpop-nonce'] ?? []].flat().at(-1);
  return { status, ...defined({ challenge, dpopNonce }) };
}

/** Limits the repetitions of one request: one with another token, and one with the server's nonce. */
export class Repetitions {
  readonly #left = { token: 1, nonce: 1 };

  /** Returns whether the request may be repeated after this refusal, and counts it. */
  take({ dpopNonce }: RefusedAnswer): boolean {
    const kind = dpopNonce === undefined ? 'token' : 'nonce';
    this.#left[kind] -= 1;
    return this.#left[kind] >= 0;
  }
}
