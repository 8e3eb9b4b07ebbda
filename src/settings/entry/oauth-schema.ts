/** The schema of an entry's key `oauth`. Rules between its keys are in `oauth.ts`. */

import { z } from 'zod';

import { grants } from '../../domain/authorization.ts';
import { signatureAlgorithms, tokenEndpointAuthMethods } from '../../domain/server-spec.ts';
import { choice } from './schema.ts';

const oauthExample = '{ "clientId": "…", "scopes": ["read"] }';
const oauthError = `"oauth" must be an object such as ${oauthExample}, or false to never log in`;

// A private key in PEM has at most a few thousand characters; so has a token.
const longestText = 16_384;

const emptyOr = (key: string) => `"${key}" must be text that is not empty; write it, or remove it`;
const text = (key: string) => {
  const error = emptyOr(key);
  return z.string({ error }).min(1, { error }).max(longestText, { error });
};

/** A text, or the output of a command. */
const value = (key: string) => {
  const error = `${emptyOr(key)}; a value from a command is { "command": ["program", "argument"] }`;
  const words = z.array(z.string({ error }), { error }).min(1, { error });
  return z.union([text(key), z.strictObject({ command: words }, { error })], { error });
};

const portError = '"callbackPort" must be a whole number from 1 to 65535, without quotes';
const scopesError =
  '"scopes" must be a string with blanks between the scopes, or a list of them; write ["read", "write"]';
const scope = z.string(scopesError).min(1, scopesError).max(longestText, scopesError);
const scopeList = z.array(scope, scopesError).max(1_000, scopesError);
const identityError =
  '"identity" must be an object; write { "issuer": "https://id.example.com", "clientId": "…", "idToken": { "command": ["…"] } }';

const identitySchema = z.strictObject(
  {
    issuer: text('issuer'),
    clientId: value('clientId'),
    clientSecret: value('clientSecret').optional(),
    idToken: value('idToken'),
  },
  { error: identityError },
);

export const oauthSchema = z.strictObject(
  {
    grant: choice('grant', grants).optional(),
    clientId: value('clientId').optional(),
    clientSecret: value('clientSecret').optional(),
    clientMetadataUrl: text('clientMetadataUrl').optional(),
    scopes: z
      .union([z.string().max(longestText, scopesError), scopeList], { error: scopesError })
      .optional(),
    issuer: text('issuer').optional(),
    metadataUrl: text('metadataUrl').optional(),
    callbackPort: z
      .int({ error: portError })
      .min(1, { error: portError })
      .max(65_535, { error: portError })
      .optional(),
    redirectUri: text('redirectUri').optional(),
    privateKey: value('privateKey').optional(),
    keyFile: text('keyFile').optional(),
    algorithm: choice('algorithm', signatureAlgorithms).optional(),
    keyId: text('keyId').optional(),
    tokenEndpointAuthMethod: choice('tokenEndpointAuthMethod', tokenEndpointAuthMethods).optional(),
    identity: identitySchema.optional(),
    assertion: value('assertion').optional(),
    assertionFile: text('assertionFile').optional(),
    dpop: z.boolean({ error: '"dpop" must be true or false, without quotes' }).optional(),
  },
  { error: oauthError },
);

export type OAuthEntry = z.infer<typeof oauthSchema>;
export type OAuthValue = NonNullable<OAuthEntry['clientId']>;

export const oauthKeys: readonly string[] = Object.keys(oauthSchema.shape);
