/** Explains failed TLS handshakes, because OpenSSL's own messages name no setting. */

interface Reason {
  readonly why: string;
  readonly next: string;
}

const untrusted: Reason = {
  why: 'its certificate is not trusted',
  next: 'if it comes from an authority of your own, write "tls": { "ca": "FILE" } with the file of that authority',
};
const writeOne = 'write the files of "cert" and "key" into "tls"';
const refused: Reason = {
  why: 'it does not accept the client certificate',
  next: 'fix "tls.cert"',
};

/** What this side found wrong, by the code of the error. */
const ownReasons: ReadonlyMap<string, Reason> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', untrusted],
  ['SELF_SIGNED_CERT_IN_CHAIN', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', untrusted],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', untrusted],
  [
    'CERT_HAS_EXPIRED',
    { why: 'its certificate has expired', next: 'let its operator renew it, or check the clock' },
  ],
  [
    'CERT_NOT_YET_VALID',
    { why: 'its certificate is not valid yet', next: 'check the clock of this machine' },
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    { why: 'its certificate is for another host', next: 'fix the host in the address' },
  ],
]);

/** What the other side found wrong, by the number of its alert (RFC 8446, section 6). */
const alerts: ReadonlyMap<number, Reason> = new Map([
  // What servers say before TLS 1.3, among other things.
  [
    40,
    { why: 'it refused the TLS handshake and may require a client certificate', next: writeOne },
  ],
  ...[42, 43, 44, 45, 46, 48, 51].map((alert) => [alert, refused] as const),
  [116, { why: 'it requires a client certificate', next: writeOne }],
]);

/** Returns the cause and the next step; undefined if the error is not about certificates. */
export function certificateReason(code: string, message: string): string | undefined {
  const own = ownReasons.get(code);
  if (own !== undefined) return `${own.why} (${code}); ${own.next}`;
  const alert = Number(/SSL alert number (\d{1,3})/u.exec(message)?.[1]);
  const reason = alerts.get(alert);
  return reason && `${reason.why} (TLS alert ${alert}); ${reason.next}`;
}
