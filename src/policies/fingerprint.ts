/**
 * The three hashes that identify a server.
 *
 * All are SHA-256 over RFC 8785 canonical JSON, as 64 hex digits, so equal values give equal
 * hashes on every machine, whatever the order of their keys. They are computed before secrets
 * are resolved, so a hash may be shown and stored.
 */

import { createHash } from 'node:crypto';

import canonicalize from 'canonicalize';
import { defined } from '../domain/data/defined.ts';
import type { ServerPolicy } from '../domain/policy.ts';
import type { MemorySpec, ServerSpec } from '../domain/server-spec.ts';
import type { DesiredServer } from '../domain/settings.ts';

/**
 * Hashes the fields of a spec that decide its connection: the `generation` of its server.
 *
 * Other fields, such as a comment or a line number, do not replace a running server.
 */
export function fingerprintOf(spec: ServerSpec): string {
  const { type, era } = spec;
  switch (spec.type) {
    case 'stdio': {
      const { command, args, env, cwd } = spec;
      return digestOf({ type, era, command, args, env, cwd, ...valueRulesOf(spec) });
    }
    case 'memory':
      return digestOf({ type, era, server: spec.server });
    case 'http':
    case 'sse':
    case 'ws': {
      const { url, headers, oauth, account, proxy, tls } = spec;
      const fallback = spec.type === 'http' && spec.fallback && { fallback: spec.fallback };
      const more = { ...fallback, ...defined({ oauth, account, proxy, tls }) };
      return digestOf({ type, era, url, headers, ...more, ...valueRulesOf(spec) });
    }
  }
}

/** The rules that decide values, without descriptions of inputs. */
function valueRulesOf({ values }: Exclude<ServerSpec, MemorySpec>): { values?: unknown } {
  if (values?.inputs === undefined) return values === undefined ? {} : { values };
  const definitions = values.inputs.definitions.map((input) => ({
    ...input,
    description: undefined,
  }));
  return { values: { ...values, inputs: { ...values.inputs, definitions } } };
}

/**
 * The fingerprint that a user's decision binds to: the connection, the server's name and scope, the
 * program that runs, the names in its `envFile`, and the files that decide what a package runner
 * runs. A change of any of them needs a new decision, for example when the same command now resolves
 * to another program.
 */
export function approvalFingerprint(desired: DesiredServer): string {
  const known = approvalFingerprints.get(desired);
  if (known !== undefined) return known;
  const { name, source, executable, envFileNames, folderFiles } = desired;
  const fingerprint = digestOf({
    generation: desired.specDigest ?? desired.generation,
    scope: source.scope,
    name,
    ...(executable !== undefined && { executable }),
    ...(envFileNames && { envFileNames }),
    ...(folderFiles && { folderFiles }),
  });
  approvalFingerprints.set(desired, fingerprint);
  return fingerprint;
}

// Every pass needs the fingerprint of every gated server, and settings are never changed in place.
const approvalFingerprints = new WeakMap<DesiredServer, string>();

/**
 * Digests everything of a server that applies in place, without a new session.
 *
 * Admission decides whether it may connect at all (`enabled`, `gated`, `invalid`),
 * and its source has no effect: neither counts.
 */
export function settingsDigestOf(desired: DesiredServer): string {
  const known = settingsDigests.get(desired);
  if (known !== undefined) return known;
  const { startup, handover, trust, tools, description, policy } = desired;
  let ofPolicy = underPolicies.get(policy);
  if (ofPolicy === undefined) {
    ofPolicy = { digest: digestOf(policy), byText: new Map() };
    underPolicies.set(policy, ofPolicy);
  }
  const { byText } = ofPolicy;
  // Nearly all servers have equal settings, so one of them is hashed.
  const text = JSON.stringify([startup, handover, trust, tools, description]);
  const digest =
    byText.get(text) ??
    digestOf({ startup, handover, trust, tools, policy: ofPolicy.digest, description });
  if (byText.size >= rememberedTexts) byText.clear();
  byText.set(text, digest);
  settingsDigests.set(desired, digest);
  return digest;
}

// Every pass needs every server's digest, and settings are never changed in place, so
// digests are cached for as long as the settings are held.
const settingsDigests = new WeakMap<DesiredServer, string>();
// Policies are most of the hashed data, and nearly all servers share one. `byText` has the
// digests of everything else that applies in place.
const underPolicies = new WeakMap<ServerPolicy, { digest: string; byText: Map<string, string> }>();
// A kilobyte each at worst, and usually a handful; beyond it some are hashed twice.
const rememberedTexts = 1_000;

/** Declares that two servers differ in nothing that is hashed, such as only in their lines. */
export function keepDigests(from: DesiredServer, to: DesiredServer): void {
  const ofSettings = settingsDigests.get(from);
  if (ofSettings !== undefined) settingsDigests.set(to, ofSettings);
  const ofApproval = approvalFingerprints.get(from);
  if (ofApproval !== undefined) approvalFingerprints.set(to, ofApproval);
}

/**
 * Hashes any JSON value.
 *
 * Accepts every JSON value: RFC 8785 refuses half a surrogate pair (`"\ud800"`),
 * which an invalid entry may hold, so such a value is hashed as plain JSON.
 */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(canonicalText(value)).digest('hex');
}

function canonicalText(value: unknown): string {
  try {
    return `${canonicalize(value)}`;
  } catch {
    return JSON.stringify(value);
  }
}
