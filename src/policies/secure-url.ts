/** Which addresses a login may use: https, and http on this machine. */

// RFC 6761 reserves localhost and all names below it.
const loopback = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/iu;

export function isLoopback(url: URL): boolean {
  return loopback.test(url.hostname);
}

/** Returns why a login may not use an address, as the end of a sentence about it; undefined = it may. */
export function secureUrlFault(url: URL): string | undefined {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url)))
    return 'must begin with https://, or with http:// for this machine (localhost, 127.0.0.1, [::1])';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user name or password; remove them';
  if (url.hash !== '') return 'must not have a fragment; remove "#" and what follows';
  return undefined;
}
