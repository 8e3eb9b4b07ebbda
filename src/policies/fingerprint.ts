/**
 * The three hashes a server is known by.
 *
 * All are SHA-256 over RFC 8785 canonical JSON, as 64 hex digits: equal values
 * give equal hashes whatever the order of their keys, on every machine, and a
 * field cannot be mistaken for its neighbour. They are taken before secrets are
 * resolved, so a hash may be shown and stored.
 */

import { createHash } from 'node:crypto';

import canonicalize from 'canonicalize';

import type { ServerPolicy } from '../domain/policy.ts';
import type { MemorySpec, ServerSpec } from '../domain/server-spec.ts';
import type { DesiredServer, Scope } from '../domain/settings.ts';

/**
 * Names the connection a spec leads to: the `generation` of its server.
 *
 * Only the fields that decide the connection count, so one more field on the
 * object (a comment, a line number) does not replace a running server.
 */
export function fingerprintOf(spec: ServerSpec): string {
  const { type, era } = spec;
  switch (spec.type) {
    case 'stdio':
      return digestOf({
        type,
        era,
        command: spec.command,
        args: spec.args,
        env: spec.env,
        cwd: spec.cwd,
        ...valueRulesOf(spec),
      });
    case 'memory':
      return digestOf({ type, era, server: spec.server });
    case 'http':
    case 'sse':
    case 'ws': {
      const fallback = spec.type === 'http' ? spec.fallback : undefined;
      return digestOf({
        type,
        era,
        url: spec.url,
        headers: spec.headers,
        ...(fallback === undefined ? {} : { fallback }),
        ...valueRulesOf(spec),
      });
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

/** The subject of an approval. */
export interface ApprovalSubject {
  readonly generation: string;
  readonly scope: Scope;
  readonly name: string;
  /** The program that the command leads to; absent where it has none. */
  readonly executable?: string;
  /** Names that the variables file sets, sorted; absent without a readable file. */
  readonly envFileNames?: readonly string[];
}

/**
 * Identifies what the user approves: this connection, under this name, from this
 * scope, run by this program. Approving a project's server does not approve a
 * workspace's, nor another program that the same command now leads to.
 */
export function approvalFingerprintOf(subject: ApprovalSubject): string {
  const { generation, scope, name, executable, envFileNames } = subject;
  return digestOf({
    generation,
    scope,
    name,
    ...(executable === undefined ? {} : { executable }),
    ...(envFileNames === undefined ? {} : { envFileNames }),
  });
}

/** The fingerprint that a decision about this server binds to. */
export function approvalFingerprint(desired: DesiredServer): string {
  const known = approvalFingerprints.get(desired);
  if (known !== undefined) return known;
  const { name, source, executable, envFileNames } = desired;
  const fingerprint = approvalFingerprintOf({
    generation: desired.specDigest ?? desired.generation,
    name,
    scope: source.scope,
    ...(executable === undefined ? {} : { executable }),
    ...(envFileNames === undefined ? {} : { envFileNames }),
  });
  approvalFingerprints.set(desired, fingerprint);
  return fingerprint;
}

// Every pass asks for every gated server's fingerprint, and settings are never changed in place.
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
  const { startup, handover, trust, tools, description } = desired;
  const ofPolicy = digestsUnder(desired.policy);
  // Nearly all servers have equal settings, so one of them is hashed.
  const text = JSON.stringify([startup, handover, trust, tools, description]);
  const digest =
    ofPolicy.byText.get(text) ??
    digestOf({ startup, handover, trust, tools, policy: ofPolicy.digest, description });
  if (ofPolicy.byText.size >= rememberedTexts) ofPolicy.byText.clear();
  ofPolicy.byText.set(text, digest);
  settingsDigests.set(desired, digest);
  return digest;
}

interface DigestsUnder {
  readonly digest: string;
  /** Digests of everything else that applies in place, by its text. */
  readonly byText: Map<string, string>;
}

/** Policies are most of the hashed data, and nearly all servers share one. */
function digestsUnder(policy: ServerPolicy): DigestsUnder {
  const known = underPolicies.get(policy);
  if (known !== undefined) return known;
  const made: DigestsUnder = { digest: digestOf(policy), byText: new Map() };
  underPolicies.set(policy, made);
  return made;
}

// Every pass needs every server's digest, and settings are never changed in place, so
// digests are cached for as long as the settings are held.
const settingsDigests = new WeakMap<DesiredServer, string>();
const underPolicies = new WeakMap<ServerPolicy, DigestsUnder>();
// A kilobyte each at worst, and usually a handful; beyond it some are hashed twice.
const rememberedTexts = 1_000;

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
