/**
 * The values that a session's settings refer to: found when it opens, and again when a server refuses
 * them. Their commands run only where what decides about them is as it was approved.
 */

import type { HeadersReason } from '../../src/domain/host/headers.ts';
import type { ServerPolicy } from '../../src/domain/policy.ts';
import type { RemoteSpec, StdioSpec } from '../../src/domain/server-spec.ts';
import type { SessionId } from '../../src/domain/session.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { nameNotApproved } from '../values/env-file.ts';
import { assertFolderFiles } from '../values/folder-files.ts';
import { createFreshHeaders } from '../values/fresh-headers.ts';
import { SettingError } from '../values/setting-error.ts';
import { hasHeaderReferences, headersOnly, logInOnly } from '../values/source.ts';
import {
  type HttpEndpoint,
  noValues,
  type Resolved,
  resolveSpec,
  type SpecValues,
} from '../values/target.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';
import { fallsBackToSse } from './sse-fallback.ts';

// A server may still show a token that was replaced; after so many, it has expired.
const rememberedFetches = 10;

export class SessionValues {
  /** Values that must not appear in anything that leaves the session. */
  readonly secrets: string[] = [];
  /** What the session was opened for; undefined until then. */
  target: SessionTarget | undefined;
  readonly #id: SessionId;
  readonly #ports: SessionPorts;
  readonly #remark: (line: string) => void;
  /** The secrets of the first values, then those of headers that were fetched again, and of logins. */
  #first: readonly string[] = [];
  #fetched: readonly (readonly string[])[] = [];
  /** Values being resolved, which may involve asking the user. */
  #finding: Promise<SpecValues> | undefined;

  constructor(id: SessionId, ports: SessionPorts, remark: (line: string) => void) {
    this.#id = id;
    this.#ports = ports;
    this.#remark = remark;
  }

  /** Whether the values are still being looked for. */
  get isFinding(): boolean {
    return this.#finding !== undefined;
  }

  /**
   * Reads the policy from the current settings, otherwise from those with which the session opened.
   */
  policy(): ServerPolicy {
    return (this.#ports.specOf(this.#id) ?? this.target)?.policy ?? defaultPolicy;
  }

  /** Resolves the settings with their values. */
  async resolve(target: SessionTarget, signal: AbortSignal): Promise<Resolved> {
    this.target = target;
    const values = await this.#find(target);
    signal.throwIfAborted();
    const resolved = this.#resolve(target, values);
    this.#first = resolved.secrets;
    this.#setSecrets(resolved.secrets);
    return resolved;
  }

  /** Returns functions that fetch the headers again; none if no value can change. */
  freshHeaders({ headers }: HttpEndpoint): Partial<ReturnType<typeof createFreshHeaders>> {
    const { spec, folder } = this.target as SessionTarget;
    const { values, env, clock } = this.#ports;
    if (spec.type === 'stdio' || spec.type === 'memory') return {};
    const part = headersOnly(spec);
    if (values?.isNeededFor(part) !== true && !hasHeaderReferences(part)) return {};
    const read = async (reason: HeadersReason): Promise<HttpEndpoint['headers']> => {
      const found = await findValues(part, { spec, folder }, { ...this.#id, reason }, this.#ports);
      const again = resolveSpec(part, env, { values: found });
      if (!('endpoint' in again)) return headers;
      this.addSecrets(again.secrets);
      return again.endpoint.headers;
    };
    return createFreshHeaders(headers, read, {
      clock,
      aheadMs: () => this.policy().auth.refreshAheadMs,
    });
  }

  /** Returns a function that reads the values of the login again; none if no value can change. */
  freshLogIn(): Pick<HttpEndpoint, 'readOAuth'> {
    const { spec, folder } = this.target as SessionTarget;
    const { values, env } = this.#ports;
    if (spec.type === 'stdio' || spec.type === 'memory' || !spec.oauth) return {};
    const part = logInOnly(spec);
    if (values?.isNeededFor(part) !== true) return {};
    return {
      readOAuth: async () => {
        const found = await findValues(part, { spec, folder }, this.#id, this.#ports);
        const again = resolveSpec(part, env, { values: found });
        this.addSecrets(again.secrets);
        return 'endpoint' in again && again.endpoint.oauth ? again.endpoint.oauth : undefined;
      },
    };
  }

  /** Adds secrets that were fetched after the first ones. */
  addSecrets(secrets: readonly string[]): void {
    this.#fetched = [...this.#fetched, secrets].slice(-rememberedFetches);
    const all = new Set([...this.#first, ...this.#fetched.flat()]);
    // The longest first, so that a secret that contains another is removed completely.
    this.#setSecrets([...all].sort((one, other) => other.length - one.length));
  }

  /** Changes the list in place, because transports and running calls hold it. */
  #setSecrets(secrets: Iterable<string>): void {
    this.secrets.splice(0, this.secrets.length, ...secrets);
  }

  /** Resolves values; a session that ends in the meantime does not wait. */
  async #find(target: SessionTarget): Promise<SpecValues | undefined> {
    const { spec, envFileNames } = target;
    const { values } = this.#ports;
    if (spec.type === 'memory' || values?.isNeededFor(spec) !== true) return undefined;
    const isBound = envFileNames !== undefined && spec.values?.envFile !== undefined;
    try {
      this.#finding = findValues(spec, target, this.#id, this.#ports);
      const found = await this.#finding;
      this.#finding = undefined;
      const foreign = isBound ? nameNotApproved(found.fileEnv, envFileNames) : undefined;
      if (foreign === undefined) return found;
      throw new SettingError(`The variables file ${foreign}; the server was not started.`);
    } catch (error) {
      // The file has changed and may need another approval.
      if (isBound) this.#ports.onExecutableMoved?.();
      throw error;
    }
  }

  #resolve({ spec, policy }: SessionTarget, values: SpecValues | undefined): Resolved {
    const onMissing = (variable: string, key: string): void =>
      this.#remark(
        `the variable ${variable}, which "${key}" refers to, is not set; the reference stays as it is`,
      );
    const { env, projectRoot } = this.#ports;
    const isOfProject = policy.connect.sharing !== 'always';
    const resolved = resolveSpec(spec, env, {
      projectRoot: isOfProject ? projectRoot : undefined,
      ...(values !== undefined && { values }),
      onMissing: policy.connect.missingVariable === 'keep' ? onMissing : undefined,
    });
    const isOverSse =
      fallsBackToSse(spec) && this.#ports.overSse?.has(this.#id.generation) === true;
    return isOverSse && 'endpoint' in resolved ? { ...resolved, type: 'sse' } : resolved;
  }
}

/**
 * @param part - what values are needed for: the target's spec, or some of it
 * @throws SettingError if a value is missing, or files of a folder are not as they were approved
 */
async function findValues(
  part: RemoteSpec | StdioSpec,
  {
    spec,
    folder,
  }: Pick<SessionTarget, 'spec'> & { readonly folder?: SessionTarget['folder'] | undefined },
  { server, reason }: { readonly server: string; readonly reason?: HeadersReason },
  { env, onExecutableMoved, values }: SessionPorts,
): Promise<SpecValues> {
  if (folder !== undefined && part.values?.commands !== undefined)
    await assertFolderFiles(spec, env, folder).catch((error: unknown) => {
      // They may need another approval.
      onExecutableMoved?.();
      throw error;
    });
  return values === undefined ? noValues : values.find(part, server, reason);
}
