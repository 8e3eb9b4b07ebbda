/**
 * Reads the proxies that the environment names, by the rules of curl: the lower-case variable wins,
 * `ALL_PROXY` is used for what has no variable of its own, and `NO_PROXY` lists what is reached
 * directly. Servers on this machine are never reached through such a proxy.
 */

import { BlockList, isIP } from 'node:net';

import type { Variables } from '../../../src/policies/expand-variables.ts';
import { givenVariable, spellingsOf } from '../../../src/policies/proxy-variables.ts';
import { hostRangeOf } from './addresses.ts';

export interface NamedProxy {
  /** As written; it may contain a password. */
  readonly address: string;
  readonly variable: string;
}

/** Returns the proxy for an address; undefined if it is reached directly. */
export function environmentProxy(target: URL, variables: Variables): NamedProxy | undefined {
  const variable = namesFor(target, variables).find(
    (name) => givenVariable(name, variables) !== undefined,
  );
  if (variable === undefined || hostRangeOf(target.hostname) === 'loopback') return undefined;
  const [listed = ''] = spellingsOf('no_proxy').flatMap(
    (name) => givenVariable(name, variables) ?? [],
  );
  if (listed.split(/[\s,]+/u).some((entry) => covers(entry, target))) return undefined;
  return { address: givenVariable(variable, variables) ?? '', variable };
}

function namesFor({ protocol }: URL, variables: Variables): readonly string[] {
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  const own = spellingsOf(isSecure ? 'https_proxy' : 'http_proxy');
  // In a CGI program, a client decides the value of HTTP_PROXY by sending a header "Proxy".
  const isCgi = variables['REQUEST_METHOD'] !== undefined;
  const safe = own.filter((name) => !(isCgi && name === 'HTTP_PROXY'));
  return [...safe, ...spellingsOf('all_proxy')];
}

/**
 * Returns whether an entry of `NO_PROXY` covers an address: `*`, a host with its subdomains, or a
 * range of addresses such as `10.0.0.0/8`; each but the first may end in a port.
 */
function covers(entry: string, target: URL): boolean {
  if (entry === '*') return true;
  const { host, port } = partsOf(entry.toLowerCase());
  if (host === '' || (port !== undefined && port !== portOf(target))) return false;
  const wanted = bareHost(target.hostname);
  if (isIP(wanted) !== 0) return coversAddress(host, wanted);
  const domain = host.replace(/^\*?\./u, '').replace(/\.$/u, '');
  return wanted === domain || wanted.endsWith(`.${domain}`);
}

function partsOf(entry: string): { readonly host: string; readonly port?: string } {
  // More than one colon: an IPv6 address, which has a port only behind brackets.
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/u.exec(entry) ?? [];
  const host = bracketed ?? plain ?? entry;
  return { host, ...(port !== undefined && { port: String(Number(port)) }) };
}

function coversAddress(entry: string, address: string): boolean {
  const [net = '', prefix] = entry.split('/');
  const family = isIP(net);
  const widest = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? widest : /^\d{1,3}$/u.test(prefix) ? Number(prefix) : -1;
  if (family === 0 || bits < 0 || bits > widest) return false;
  const list = new BlockList();
  list.addSubnet(net, bits, family === 4 ? 'ipv4' : 'ipv6');
  return list.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function portOf({ port, protocol }: URL): string {
  if (port !== '') return port;
  return protocol === 'https:' || protocol === 'wss:' ? '443' : '80';
}

function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$|\.$/gu, '').toLowerCase();
}
