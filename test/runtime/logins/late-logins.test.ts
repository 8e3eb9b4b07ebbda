/** Logins whose charts are created after the servers that use them have changed. */

import { describe, expect, it, onTestFinished } from 'vitest';
import type { AnyActorRef } from 'xstate';

import { createCredentialStore } from '../../../actors/stores/credentials.ts';
import type { RemoteEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import type { Authenticator } from '../../../src/domain/authorization.ts';
import { defaultPolicy } from '../../../src/policies/presets/default-policy.ts';
import { Authorizations } from '../../../src/runtime/logins/authorizations.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import type { SharedPorts } from '../../../src/runtime/shared-ports.ts';

const loginTimeoutMs = 12_345;
const refusal = { status: 401, challenge: 'Bearer', sentWith: {} } as const;

function setUp() {
  const policy = { ...defaultPolicy, auth: { ...defaultPolicy.auth, loginTimeoutMs } };
  const keepCredentials = () =>
    createCredentialStore({ clock: promptClock, onProblems: () => {}, keyring: null });
  const ports = {
    parts: { clock: promptClock, seed: 1, keepCredentials },
    board: () => ({ status: () => undefined }),
    book: { policyOf: () => policy },
  } as unknown as SharedPorts;
  const begun = new Set<AnyActorRef>();
  const logins = new Authorizations(ports, (actor) => begun.add(actor));
  onTestFinished(() => logins.close());
  const authenticatorOf = (server: string): Authenticator => {
    const endpoint = { url: new URL('http://127.0.0.1:1/mcp'), headers: {} } as RemoteEndpoint;
    const owner = { server, generation: 'g', session: 1 };
    return logins.authenticatorFor(owner, endpoint) as Authenticator;
  };
  return { logins, begun, authenticatorOf };
}

describe('a login that no request needed yet', () => {
  it('is not begun by a refusal after its last server was removed', async () => {
    const { logins, begun, authenticatorOf } = setUp();
    const authenticator = authenticatorOf('db');
    logins.retain(() => false);
    expect(await authenticator.refused(refusal)).toBe(false);
    expect(begun.size).toBe(0);
  });

  it('is not begun by a refusal after the troupe has stopped', async () => {
    const { logins, begun, authenticatorOf } = setUp();
    const authenticator = authenticatorOf('db');
    await logins.close();
    expect(await authenticator.refused(refusal)).toBe(false);
    logins.noteChallenge('db', 'Bearer scope="write", error="insufficient_scope"');
    expect(begun.size).toBe(0);
  });

  it('begins with the policy of a server that still uses it', async () => {
    const { logins, begun, authenticatorOf } = setUp();
    authenticatorOf('first');
    const authenticator = authenticatorOf('later');
    logins.retain((server) => server === 'later');
    await authenticator.refused(refusal);
    expect([...begun].map((actor) => actor.getSnapshot().context.loginTimeoutMs)).toEqual([
      loginTimeoutMs,
    ]);
  });
});
