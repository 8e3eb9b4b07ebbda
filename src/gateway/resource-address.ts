/**
 * Addresses of resources as clients of the gateway see them. Two servers may give the same
 * address to different things, so each carries the name of its server: `troupe://db/note://all`.
 * Templates stay templates, because what is put in front holds no braces.
 */

import { isRecord } from '../policies/is-record.ts';

const scheme = 'troupe://';

export interface ResourceAddress {
  readonly server: string;
  /** The server's own address. */
  readonly uri: string;
}

export function addressFor(server: string, uri: string): string {
  return `${scheme}${encodeURIComponent(server)}/${uri}`;
}

/** Undefined when no gateway has made it. */
export function readAddress(address: string): ResourceAddress | undefined {
  if (!address.startsWith(scheme)) return undefined;
  const end = address.indexOf('/', scheme.length);
  const uri = address.slice(end + 1);
  if (end === -1 || uri === '') return undefined;
  try {
    return { server: decodeURIComponent(address.slice(scheme.length, end)), uri };
  } catch {
    return undefined;
  }
}

type Block = Readonly<Record<string, unknown>>;

/** A block of content with the address in it, if there is one, as clients must write it. */
export function withAddress(server: string, block: Block): Block {
  const { type, uri, resource } = block;
  if (type === 'resource_link' && typeof uri === 'string')
    return { ...block, uri: addressFor(server, uri) };
  if (type === 'resource' && isRecord(resource) && typeof resource['uri'] === 'string')
    return { ...block, resource: { ...resource, uri: addressFor(server, resource['uri']) } };
  return block;
}
