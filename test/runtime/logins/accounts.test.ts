/** How the issuer of a stored login is reached when its server is not known. */

import { describe, expect, it } from 'vitest';

import { endpointOf } from '../../../src/runtime/logins/accounts.ts';

const resource = 'https://db.example.com/mcp';
const id = { resource, account: null, client: null, reach: null };

describe('the issuer of a login that is deleted by its address', () => {
  it('is reached through the proxy of the environment', async () => {
    const { reach } = await endpointOf(id, { https_proxy: 'http://proxy.example:3128' });
    expect(reach?.proxyFor(new URL(resource))?.url.host).toBe('proxy.example:3128');
    expect(reach?.ownDigest).toBeNull();
  });

  it('is not reached in any way if the server had a proxy or certificates of its own', async () => {
    const env = { https_proxy: 'http://proxy.example:3128' };
    expect((await endpointOf({ ...id, reach: 'digest' }, env)).reach).toBeUndefined();
  });

  it('is not reached past a proxy that the environment names by mistake', async () => {
    await expect(endpointOf(id, { https_proxy: 'socks5://proxy.example' })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('The variable https_proxy holds a SOCKS proxy'),
    });
  });
});
