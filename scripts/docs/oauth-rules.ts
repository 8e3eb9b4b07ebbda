/** The schema of `oauth` for editors: the parser's, with the rules that JSON Schema can express. */

import { z } from 'zod';
import { alternatives, keysByGrant, needsByGrant } from '../../src/settings/entry/oauth.ts';
import { type OAuthEntry, oauthSchema } from '../../src/settings/entry/oauth-schema.ts';
import { foreignOAuthKeys } from '../../src/settings/formats/log-in-rules.ts';

type Json = Readonly<Record<string, unknown>>;
type Describe = (key: keyof OAuthEntry) => Json;

const https = String.raw`[Hh][Tt][Tt][Pp][Ss]:`;
const local = String.raw`[Hh][Tt][Tt][Pp]:[\\/]*(?:localhost|127\.[\d.]+|\[::1\])(?=[:\\/?#]|$)`;
/** An address with a reference is checked when that is resolved. */
const address = { pattern: String.raw`^\s*(?:${https}|${local}|[^]*\$\{)` };

const file = { pattern: '^(?!~)' };
const files = ['keyFile', 'assertionFile'];
const addresses = ['clientMetadataUrl', 'issuer', 'metadataUrl', 'redirectUri'];

/** @param describe - the words for a key */
export function oauthForEditors(describe: Describe, foreignWord: Json): z.ZodType {
  const own = Object.entries(oauthSchema.shape).map(([key, schema]) => {
    const rule = addresses.includes(key) ? address : files.includes(key) ? file : {};
    return [key, schema.meta({ ...describe(key as keyof OAuthEntry), ...rule })];
  });
  const foreign = foreignOAuthKeys.map((key) => [key, z.unknown().meta(foreignWord).optional()]);
  const object = z.strictObject(Object.fromEntries([...own, ...foreign])).meta({ allOf: rules() });
  return z.union([object, z.literal(false)]);
}

function rules(): readonly Json[] {
  const grants = Object.entries(needsByGrant);
  return [
    ...alternatives.map((keys) => ({ not: { required: keys } })),
    ...grants.map(([grant, groups]) =>
      when(grant, {
        allOf: groups.map((keys) => ({ anyOf: keys.map((key) => ({ required: [key] })) })),
        properties: Object.fromEntries(
          Object.entries(keysByGrant).flatMap(([other, keys]) =>
            other === grant ? [] : keys.map((key) => [key, false]),
          ),
        ),
      }),
    ),
  ];
}

function when(
  grant: string,
  { allOf, ...rule }: { allOf: readonly Json[]; properties: Json },
): Json {
  const isDefault = grant === 'authorization_code';
  const condition = {
    properties: { grant: { const: grant } },
    ...(isDefault ? {} : { required: ['grant'] }),
  };
  // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema; it is never awaited
  return { if: condition, then: { ...rule, ...(allOf.length === 0 ? {} : { allOf }) } };
}
