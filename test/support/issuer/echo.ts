/** Answers that repeat every secret of a request, as careless servers do. */

import type { Echo } from './settings.ts';
import type { Seen } from './state.ts';

const secretFields = [
  ...['code', 'code_verifier', 'refresh_token', 'client_secret', 'client_assertion'],
  ...['assertion', 'subject_token', 'device_code', 'token', 'state'],
];

/** The secrets in a request, in every form in which it contained them. */
export function secretsIn({ form, query, headers }: Seen): readonly string[] {
  const fields = secretFields.flatMap((name) => [...form.getAll(name), ...query.getAll(name)]);
  const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(' ');
  if (credentials === '') return fields;
  if (scheme !== 'Basic') return [...fields, credentials];
  const [, secret = ''] = Buffer.from(credentials, 'base64').toString().split(':');
  return [...fields, decodeURIComponent(secret), credentials];
}

export interface EchoedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function echoed({ echo, status, error = 'invalid_request' }: Echo, seen: Seen): EchoedReply {
  const said = `you sent ${secretsIn(seen).join(' and ')}`;
  const redirectUri = seen.query.get('redirect_uri');
  if (redirectUri !== null) {
    const back = new URL(redirectUri);
    const fields = { error, error_description: said, state: seen.query.get('state') ?? '' };
    for (const [name, value] of Object.entries(fields)) back.searchParams.set(name, value);
    back.searchParams.set('iss', `http://${seen.headers.host}`);
    return { status: 302, headers: { location: back.href }, body: '' };
  }
  if (echo === 'page')
    return {
      status,
      headers: {
        'content-type': 'text/html',
        'www-authenticate': `Bearer error="${error}", error_description="${said}"`,
      },
      body: `<html>${said}`,
    };
  const headers = { 'content-type': 'application/json' };
  if (echo === 'oauth')
    return { status, headers, body: JSON.stringify({ error, error_description: said }) };
  const { id } = JSON.parse(seen.body) as { readonly id?: number };
  const message = { jsonrpc: '2.0', id: id ?? null, error: { code: -32_000, message: said } };
  return { status, headers, body: JSON.stringify(message) };
}
