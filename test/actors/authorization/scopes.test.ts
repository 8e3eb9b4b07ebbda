/** Which scopes a login asks for: LOGIN.md rows 12 to 14. */

import { describe, expect, it } from 'vitest';
import { readChallenge } from '../../../actors/authorization/challenge.ts';
import { tokenHeaders } from '../../../actors/authorization/credential-facts.ts';
import type { Discovered } from '../../../actors/authorization/discovery.ts';
import { scopeList, scopesFor } from '../../../actors/authorization/scopes.ts';
import { called, loggedIn, readyAt, valueOf } from './bench.ts';

function known(
  resource?: string[],
  issuer?: string[],
): Pick<Discovered, 'metadata' | 'scopesSupported'> {
  return {
    metadata: {
      issuer: 'https://issuer.example',
      token_endpoint: 'https://issuer.example/token',
      response_types_supported: ['code'],
      scopes_supported: issuer,
    },
    ...(resource !== undefined && { scopesSupported: resource }),
  };
}

describe('the scopes', () => {
  it('prefer the challenge to the metadata', () => {
    expect(scopesFor(known(['all']), { challenged: 'one' })).toBe('one');
    expect(scopesFor(known(['all', 'more']), {})).toBe('all more');
  });

  it('are left to the issuer if none are known', () => {
    expect(scopesFor(known(), {})).toBeUndefined();
    expect(scopesFor(known(undefined, ['offline_access']), {})).toBeUndefined();
  });

  it('prefer the settings to everything else', () => {
    const found = known(['all'], ['offline_access']);
    const pinned = ['mine'];
    expect(scopesFor(found, { pinned, challenged: 'one', granted: ['old'] })).toBe('mine');
    expect(scopesFor(found, { pinned: [] })).toBeUndefined();
  });

  it('include offline_access only if the issuer offers it', () => {
    expect(scopesFor(known(['all'], ['offline_access']), {})).toBe('all offline_access');
    expect(scopesFor(known(['all', 'offline_access'], ['all']), {})).toBe('all');
  });

  it('keep what was granted before a step-up', () => {
    expect(scopesFor(known(['all']), { challenged: 'write', granted: ['read'] })).toBe(
      'read write',
    );
  });

  it('are listed once each, in order', () => {
    expect(scopeList('b a  b')).toEqual(['a', 'b']);
    expect(scopeList(undefined)).toEqual([]);
  });
});

it('steps up to what a tool needs', async () => {
  const ready = await readyAt({ toolScopes: { drop: ['write'] }, challengeScope: 'read' });
  const url = new URL(ready.issuer.server);
  const first = await called(ready.issuer, {});
  const challenged = readChallenge(first.headers.get('www-authenticate') ?? '')?.scope ?? '';
  const tokens = valueOf(await loggedIn(ready, { scope: challenged }));
  const refused = await called(
    ready.issuer,
    await tokenHeaders(tokens, 'POST', url, undefined),
    'drop',
  );
  const challenge = readChallenge(refused.headers.get('www-authenticate') ?? '');
  expect(refused.status).toBe(403);
  expect(challenge).toMatchObject({ error: 'insufficient_scope', scope: 'write' });
  const wider = scopesFor(ready.found, {
    ...(challenge?.scope !== undefined && { challenged: challenge.scope }),
    granted: scopeList(tokens.scope),
  });
  const more = valueOf(await loggedIn(ready, { ...(wider !== undefined && { scope: wider }) }));
  const answer = await called(
    ready.issuer,
    await tokenHeaders(more, 'POST', url, undefined),
    'drop',
  );
  expect(answer.status).toBe(200);
  expect(scopeList(more.scope)).toEqual(['read', 'write']);
});
