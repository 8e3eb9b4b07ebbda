/**
 * Classifies addresses by network range, for the rules about permitted connections. The rules apply
 * to the address of the actual connection, so neither another spelling nor a name that later
 * resolves differently evades them.
 */

import { BlockList, isIP } from 'node:net';

/** `forbidden`: addresses of services that hand out credentials, never of MCP servers. */
export type AddressRange = 'public' | 'private' | 'loopback' | 'forbidden';

/** Thrown for an address or a redirect that is not allowed. No byte was sent there. */
export class BlockedError extends Error {
  readonly code: 'ERR_ADDRESS_BLOCKED' | 'ERR_REDIRECT_BLOCKED';

  constructor(message: string, what: 'address' | 'redirect' = 'address') {
    super(message);
    this.name = what === 'address' ? 'AddressBlockedError' : 'RedirectBlockedError';
    this.code = what === 'address' ? 'ERR_ADDRESS_BLOCKED' : 'ERR_REDIRECT_BLOCKED';
  }
}

export function blocked(where: string): BlockedError {
  return new BlockedError(`connecting to ${where} is not allowed`);
}

type Net = readonly [address: string, prefix: number, family?: 'ipv6'];

function listOf(nets: readonly Net[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix, family = 'ipv4'] of nets) list.addSubnet(address, prefix, family);
  return list;
}

const forbidden = listOf([
  // Link-local addresses, on which clouds run their metadata service.
  ['169.254.0.0', 16],
  ['fe80::', 10, 'ipv6'],
  // The metadata services of clouds that chose other addresses.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
  // Multicast, broadcast and reserved.
  ['224.0.0.0', 3],
  ['ff00::', 8, 'ipv6'],
]);

const loopback = listOf([
  ['127.0.0.0', 8],
  // "This host": a connection to it reaches this machine.
  ['0.0.0.0', 8],
  ['::1', 128, 'ipv6'],
  ['::', 128, 'ipv6'],
]);

const privateNets = listOf([
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  // Shared by a provider's customers, and by overlay networks.
  ['100.64.0.0', 10],
  // For protocols, documentation and benchmarks: never a public server.
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['fc00::', 7, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['2001:db8::', 32, 'ipv6'],
  // Tunnels, whose address hides the other end.
  ['2001::', 32, 'ipv6'],
  ['64:ff9b:1::', 48, 'ipv6'],
]);

/** Classifies an IP address; a string that is not one is forbidden. */
export function rangeOf(address: string): AddressRange {
  const [bare = ''] = address.split('%');
  const version = isIP(bare);
  if (version === 0) return 'forbidden';
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (forbidden.check(bare, family)) return 'forbidden';
  if (loopback.check(bare, family)) return 'loopback';
  if (privateNets.check(bare, family)) return 'private';
  const inner = version === 6 ? innerAddressOf(bare) : undefined;
  return inner === undefined ? 'public' : rangeOf(inner);
}

// Clouds serve their credentials under these names as well.
const metadataNames: ReadonlySet<string> = new Set([
  'instance-data',
  'instance-data.ec2.internal',
  'metadata',
  'metadata.goog',
  'metadata.google.internal',
]);

/**
 * Classifies a host that is not looked up here, because a proxy does that. Returns undefined for a
 * name that could belong to any range.
 */
export function hostRangeOf(hostname: string): AddressRange | undefined {
  const host = hostname.replace(/^\[|\]$/gu, '');
  if (isIP(host) !== 0) return rangeOf(host);
  const name = host.replace(/\.$/u, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return 'loopback';
  return metadataNames.has(name) ? 'forbidden' : undefined;
}

/** Returns the IPv4 address inside an IPv6 address. */
function innerAddressOf(address: string): string | undefined {
  const groups = groupsOf(address);
  const start = groups.slice(0, 6).join(':');
  if (groups[0] === 0x2002) return dotted(groups[1], groups[2]);
  const isTranslated = start === '100:65435:0:0:0:0';
  const isMapped = start === '0:0:0:0:0:65535' || start === '0:0:0:0:0:0';
  return isTranslated || isMapped ? dotted(groups[6], groups[7]) : undefined;
}

/** Returns the eight numbers of an IPv6 address, however it is written. */
function groupsOf(address: string): readonly number[] {
  const plain = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [before = '', after] = plain.split('::');
  const head = before === '' ? [] : before.split(':');
  const tail = after === undefined || after === '' ? [] : after.split(':');
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  return [...head, ...gap, ...tail].map((group) => Number.parseInt(group, 16));
}

function dotted(high = 0, low = 0): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Returns the address of a server over HTTP, with which a WebSocket begins. */
export function asHttp(url: URL): URL {
  return url.protocol.startsWith('ws') ? new URL(url.href.replace(/^ws/u, 'http')) : url;
}

/** The server's URL as a resource indicator: without query, fragment and the slash of a bare host. */
export function canonicalResource(server: URL): string {
  return server.pathname === '/' ? server.origin : `${server.origin}${server.pathname}`;
}

/**
 * Returns the resource that a token is for if the server's metadata names another than the server's
 * address; undefined if they are the same, apart from a slash at the end.
 */
export function otherResource(server: URL, named: string): string | undefined {
  const { href } = new URL(named);
  const plain = (text: string): string => new URL(text).href.replace(/\/$/u, '');
  const isSame = href === server.href || plain(href) === plain(canonicalResource(server));
  return isSame ? undefined : href;
}
