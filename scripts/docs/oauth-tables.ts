/** The words for the keys of `oauth`, and their table. */

import { signatureAlgorithms, tokenEndpointAuthMethods } from '../../src/domain/server-spec.ts';
import type { OAuthEntry } from '../../src/settings/entry/oauth-schema.ts';
import { code, table } from './markdown.ts';
import type { KeyWords } from './settings-tables.ts';

const textOrCommand = 'text, or a [command](values.md#commands)';
const address = 'an `https:` address, or an `http:` one of this machine';

type OAuthWords = Omit<KeyWords, 'example' | 'byDefault'>;

/** The keys of `oauth`. */
export const oauthWords: Readonly<Record<keyof OAuthEntry, OAuthWords>> = {
  grant: {
    takes: '`"authorization_code"`, `"client_credentials"`, `"enterprise"` or `"workload"`',
    meaning:
      'How a token is obtained. `authorization_code`, the default: you log in with a browser. The others need no user: a client with a secret or a key; an identity provider that vouches for you (ID-JAG); a token that the platform issued to this machine.',
  },
  clientId: {
    takes: textOrCommand,
    meaning: 'A client that you registered with the issuer. Left out, one is registered.',
    examples: ['${CLIENT_ID}'],
  },
  clientSecret: {
    takes: textOrCommand,
    meaning: 'Its secret, if it has one.',
    examples: ['${keychain:db/client}'],
  },
  clientMetadataUrl: {
    takes: 'an `https:` address with a path',
    meaning: 'A metadata document of your own, whose address is the client id.',
  },
  scopes: {
    takes: 'list of strings, or a string with blanks between them',
    meaning: 'Exactly these scopes are requested, instead of those that the server names.',
    examples: [['read', 'write']],
  },
  issuer: {
    takes: address,
    meaning: 'The only issuer that may be used, whatever the server names.',
    examples: ['https://login.example.com'],
  },
  metadataUrl: {
    takes: address,
    meaning: "Where the issuer's metadata is, if not at the usual places.",
  },
  callbackPort: {
    takes: '1 to 65,535',
    meaning:
      'The port on this machine that the browser returns to, for a client that is registered with `http://localhost:PORT/callback`. Left out, any free port.',
    examples: [8_080],
  },
  redirectUri: {
    takes: address,
    meaning:
      'The address that the browser returns to, exactly as it is registered. On this machine, its port and path are listened to; another address must lead back to `callbackPort`.',
    examples: ['http://localhost:8080/callback'],
  },
  privateKey: {
    takes: textOrCommand,
    meaning:
      "The client's private key, in PEM without a passphrase or as a JWK, for `private_key_jwt`.",
  },
  keyFile: { takes: 'text: a file', meaning: 'A file with that key.' },
  algorithm: {
    takes: signatureAlgorithms.map((name) => `\`"${name}"\``).join(', '),
    meaning: 'How the key signs. Left out, the usual algorithm of the key.',
  },
  keyId: {
    takes: 'text',
    meaning:
      'The name of the key, if the issuer knows several of the client (`kid`). Left out, the one that a JWK states.',
  },
  tokenEndpointAuthMethod: {
    takes: tokenEndpointAuthMethods.map((name) => `\`"${name}"\``).join(', '),
    meaning: 'How the client proves its identity. Left out, the best that both sides support.',
  },
  identity: {
    takes: '`{ "issuer": …, "clientId": …, "clientSecret": …, "idToken": … }`',
    meaning:
      'For `enterprise`: the identity provider, the client that you registered there, and an ID token of yours, usually from a command.',
  },
  assertion: {
    takes: textOrCommand,
    meaning: 'For `workload`: the token that the platform issued, usually from a command.',
  },
  assertionFile: {
    takes: 'text: a file',
    meaning: 'A file with that token, read again for every request.',
    examples: ['/var/run/secrets/tokens/mcp'],
  },
  dpop: {
    takes: 'true or false',
    meaning: 'True: tokens are bound to a key, so that a stolen token is useless (RFC 9449).',
  },
}; // prettier-ignore

export function oauthKeyTable(): string {
  return table(
    ['key', 'takes', 'means'],
    Object.entries(oauthWords).map(([key, { takes, meaning }]) => [code(key), takes, meaning]),
  );
}
