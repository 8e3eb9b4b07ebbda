/**
 * How a server is reached: through which proxy, trusting which certificates and with which one of
 * our own. It follows the entry's `proxy` and `tls`, then the environment.
 *
 * Behind a proxy names are looked up by the proxy, so only literal addresses and well-known names
 * can be checked here.
 */

import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import path from 'node:path';
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { printableLine } from '../../../src/domain/data/printable.ts';
import { givenVariable } from '../../../src/policies/proxy-variables.ts';
import { isPem } from '../../../src/policies/text/pem.ts';
import { isWithin } from '../../files/path-within.ts';
import { readTextFile } from '../../files/text-file.ts';
import { SettingError } from '../../values/setting-error.ts';
import { type HttpEndpoint, type ReachSettings } from '../../values/target.ts';
import { environmentProxy } from './environment-proxy.ts';
import { type Proxy, parseProxy } from './proxy.ts';

export interface Ways {
  /** Returns the proxy for an address; undefined if it is reached directly. */
  proxyFor(url: URL): Proxy | undefined;
  /** Certificates to trust and to present; undefined: Node's own. */
  readonly secureContext: SecureContext | undefined;
  /** Those for the proxy itself, which gets no client certificate. */
  readonly proxyContext: SecureContext | undefined;
}

export interface Reach extends Ways {
  /** For other origins: the client certificate is for the server alone. */
  readonly withoutCertificate: Ways;
  /**
   * Digest of the proxy and the certificates that the entry itself names; null if it names none. It
   * identifies logins, so it contains nothing secret: neither the proxy's password nor a private key.
   */
  readonly ownDigest: string | null;
}

/** The endpoint of a server with its certificates read. */
export interface RemoteEndpoint extends Omit<HttpEndpoint, 'reach'> {
  readonly reach?: Reach | undefined;
}

/**
 * Reads the files that an endpoint names.
 * @throws SettingError that names the key or variable and the next step
 */
export async function openEndpoint(
  { reach, ...endpoint }: HttpEndpoint,
  onRemark: (text: string) => void,
): Promise<RemoteEndpoint> {
  if (reach === undefined) return endpoint;
  const opened = await openReach(reach, onRemark);
  // Reports a broken address before the first request.
  opened.proxyFor(endpoint.url);
  return { ...endpoint, reach: opened };
}

async function openReach(
  settings: ReachSettings,
  onRemark: (text: string) => void,
): Promise<Reach> {
  const { proxy, tls = {}, variables } = settings;
  const [ca, cert, key, added] = await Promise.all([
    pemOf('ca', tls),
    pemOf('cert', tls),
    pemOf('key', tls),
    environmentAuthorities(settings, onRemark),
  ]);
  const ownAuthorities = ca === undefined ? [] : checkedAuthorities(ca);
  const named = new Set([...ownAuthorities, ...added]);
  const authorities = [...named].filter((pem) => !nodeAuthorities.has(pem));
  const identity =
    cert === undefined ? undefined : identityOf(cert, key, tls.values?.passphrase?.value);
  const own = typeof proxy === 'string' ? ownProxy(proxy) : undefined;
  const proxyFor = (url: URL): Proxy | undefined =>
    proxy === undefined ? proxyOfEnvironment(url, variables) : own;
  // Read when a connection needs them, because servers without TLS never do.
  const waysWith = (presented: Identity | undefined): Ways => ({
    proxyFor,
    get secureContext() {
      return contextOf(authorities, presented);
    },
    get proxyContext() {
      return contextOf(authorities, undefined);
    },
  });
  return Object.assign(waysWith(identity), {
    withoutCertificate: waysWith(undefined),
    ownDigest: digestOfOwn(proxy === false ? 'none' : own?.url.href, ownAuthorities, cert),
  });
}

/** The environment's proxies and authorities are the user's own for every server. */
function digestOfOwn(
  proxy: string | undefined,
  authorities: readonly string[],
  cert: string | undefined,
): string | null {
  const presented = cert === undefined ? [] : certificatesIn(cert);
  if (proxy === undefined && authorities.length === 0 && presented.length === 0) return null;
  const text = JSON.stringify([proxy ?? null, [...authorities].sort(), presented]);
  return createHash('sha256').update(text).digest('base64url');
}

function ownProxy(address: string): Proxy {
  const proxy = parseProxy(address, '"proxy"');
  if (proxy !== undefined) return proxy;
  throw new SettingError(
    'The "proxy" is not an address that begins with http:// or https://; write "http://host:port", or false for none.',
  );
}

function proxyOfEnvironment(url: URL, variables: ReachSettings['variables']): Proxy | undefined {
  const found = environmentProxy(url, variables);
  if (found === undefined) return undefined;
  const { address, variable } = found;
  const proxy = parseProxy(address, variable);
  if (proxy !== undefined) return proxy;
  const what = /^socks/iu.test(address)
    ? 'a SOCKS proxy, which is not supported'
    : 'no address of a proxy';
  throw new SettingError(
    `The variable ${variable} holds ${what}; write http://host:port into it, or "proxy": false for this server.`,
  );
}

type FileKey = 'ca' | 'cert' | 'key';

// A bundle of all public authorities has about 230 KB.
const maxPemBytes = 1024 * 1024;
const longestShown = 200;

/** Returns the text of a certificate or key: the value itself, or that of the file it names. */
async function pemOf(
  key: FileKey,
  { values = {}, within }: NonNullable<ReachSettings['tls']>,
): Promise<string | undefined> {
  const given = values[key];
  if (given === undefined || isPem(given.value)) return given?.value;
  const { value, written } = given;
  const file = `The file "${printableLine(written, longestShown)}" of "tls.${key}"`;
  if (!path.isAbsolute(value))
    throw new SettingError(`${file} is not a whole path once its references are resolved; fix it.`);
  const reading = await readTextFile(value, {
    key: `tls.${key}`,
    within: within !== undefined && isWithin(value, within) ? within : undefined,
    maxBytes: maxPemBytes,
    content: 'certificates and keys',
  });
  if ('text' in reading) return reading.text;
  throw new SettingError(`${file} ${reading.failure}.`);
}

/** Reads the authorities that the environment adds. A file that cannot be used is only noted, as Node does. */
async function environmentAuthorities(
  { variables, tls }: ReachSettings,
  onRemark: (text: string) => void,
): Promise<readonly string[]> {
  const named = authorityVariables(variables);
  // This file was read by Node itself when it started.
  const isNew = named.some(({ file }) => file !== process.env['NODE_EXTRA_CA_CERTS']);
  if (!isNew && tls?.values?.ca === undefined) return [];
  const read = named.map(async ({ name, file }) => {
    const rule = { key: name, maxBytes: maxPemBytes, content: 'certificates' };
    const reading = await readTextFile(path.resolve(file), rule);
    const fault = 'text' in reading ? undefined : reading.failure;
    const pems = 'text' in reading ? certificatesIn(reading.text) : [];
    if (pems.length === 0)
      onRemark(`the file of ${name} ${fault ?? 'holds no certificate in PEM form'}`);
    return pems;
  });
  return (await Promise.all(read)).flat();
}

/** Lists the variables that name files of authorities. */
export function authorityVariables(
  variables: ReachSettings['variables'],
): readonly { readonly name: string; readonly file: string }[] {
  return ['SSL_CERT_FILE', 'NODE_EXTRA_CA_CERTS'].flatMap((name) => {
    const file = givenVariable(name, variables);
    return file === undefined ? [] : [{ name, file }];
  });
}

function certificatesIn(text: string): readonly string[] {
  const found = text.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu);
  return [...found].map(([pem]) => pem.replaceAll('\r', ''));
}

function checkedAuthorities(text: string): readonly string[] {
  const pems = certificatesIn(text);
  if (pems.length > 0 && pems.every(isCertificate)) return pems;
  throw new SettingError(
    'The "tls.ca" holds no certificate in PEM form; name a file that begins with -----BEGIN CERTIFICATE-----.',
  );
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

interface Identity {
  readonly cert: string;
  readonly key: string;
  readonly passphrase?: string;
}

/** Checks the client certificate first, because OpenSSL's own messages name no setting. */
function identityOf(cert: string, ownKey: string | undefined, passphrase = ''): Identity {
  const key = ownKey ?? cert;
  const place = ownKey === undefined ? '"tls.cert"' : '"tls.key"';
  if (!isCertificate(cert))
    throw new SettingError(
      'The "tls.cert" holds no certificate in PEM form; name a file that begins with -----BEGIN CERTIFICATE-----.',
    );
  const privateKey = openedKey(key, passphrase, place);
  if (!new X509Certificate(cert).checkPrivateKey(privateKey))
    throw new SettingError(
      `The private key of ${place} does not belong to the certificate of "tls.cert"; fix one of them.`,
    );
  return { cert, key, ...(passphrase !== '' && { passphrase }) };
}

function openedKey(key: string, passphrase: string, place: string): KeyObject {
  try {
    return createPrivateKey({ key, ...(passphrase !== '' && { passphrase }) });
  } catch (cause) {
    if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/u.test(key))
      throw new SettingError(ownKeyMissing(place), { cause });
    if (!key.includes('ENCRYPTED'))
      throw new SettingError(`The private key of ${place} is damaged; export it again as PEM.`, {
        cause,
      });
    throw new SettingError(
      passphrase === ''
        ? `The private key of ${place} is encrypted; write its passphrase into "tls.passphrase".`
        : `The "tls.passphrase" does not open the private key of ${place}; fix it.`,
      { cause },
    );
  }
}

function ownKeyMissing(place: string): string {
  return place === '"tls.cert"'
    ? 'The "tls.cert" holds no private key; name the file of the key in "tls.key".'
    : `The ${place} holds no private key in PEM form; name a file that begins with -----BEGIN PRIVATE KEY-----.`;
}

const nodeAuthorities: ReadonlySet<string> = new Set(rootCertificates);

// Reading Node's authorities once more takes about 50 ms; a few certificates serve all sessions.
const keptContexts = 16;
const contexts = new Map<string, SecureContext>();

/** Creates a context; the given authorities are trusted in addition to Node's. */
function contextOf(
  authorities: readonly string[],
  identity: Identity | undefined,
): SecureContext | undefined {
  if (authorities.length === 0 && identity === undefined) return undefined;
  const id = createHash('sha256')
    .update(JSON.stringify([authorities, identity]))
    .digest('hex');
  const known = contexts.get(id);
  if (known !== undefined) return known;
  const ca = authorities.length > 0 && { ca: [...rootCertificates, ...authorities] };
  const context = createSecureContext({ ...ca, ...identity });
  if (contexts.size >= keptContexts) contexts.clear();
  contexts.set(id, context);
  return context;
}
