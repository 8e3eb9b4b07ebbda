/** Explains failed TLS handshakes, whose messages in OpenSSL help no user. */

interface Reason {
  readonly why: string;
  readonly next: string;
}

const untrusted: Reason = {
  why: 'its certificate is not trusted',
  next: 'if it comes from an authority of your own, write "tls": { "ca": "FILE" } with the file of that authority',
};
const wanted: Reason = {
  why: 'it requires a client certificate',
  next: 'write "tls": { "cert": "FILE", "key": "FILE" }',
};
const refused: Reason = {
  why: 'it does not accept the client certificate',
  next: 'fix "tls.cert"',
};

const reasons: ReadonlyMap<string, Reason> = new Map([
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
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', wanted],
  // What servers before TLS 1.3 say without a client certificate, among other things.
  [
    'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
    { why: 'it refused the TLS handshake and may require a client certificate', next: wanted.next },
  ],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', refused],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', refused],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', refused],
  ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', refused],
  ['ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR', refused],
]);

export function certificateReason(code: string): Reason | undefined {
  return reasons.get(code);
}
