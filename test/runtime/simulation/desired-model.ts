/**
 * A second, naive opinion of which servers may run and as what, made from the
 * texts that were read and the decisions that were sent. It shares nothing with
 * the policies but the fingerprint.
 */

import { fingerprintOf } from '../../../src/policies/fingerprint.ts';

/** One entry as the simulation writes it. */
export interface Entry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly enabled?: boolean;
  readonly startup?: 'eager' | 'lazy';
  readonly handover?: 'seamless' | 'exclusive';
  readonly tools?: { readonly exclude: readonly string[] };
  readonly timeoutMs?: number;
  readonly idleStopMs?: number;
  readonly restart?: 'auto' | 'never' | 'always';
  readonly policy?: {
    readonly health: { readonly mode: 'off' | 'ping'; readonly everyMs: number };
  };
}

export interface FileContent {
  readonly mcpServers: Readonly<Record<string, Entry>>;
  readonly mcp?: { readonly excluded?: readonly string[]; readonly allowed?: readonly string[] };
}

export interface Found {
  readonly entry: Entry;
  readonly isGated: boolean;
}

const nothing: FileContent = { mcpServers: {} };

export class DesiredModel {
  readonly #bound: readonly string[] | null;
  readonly #granted = new Map<string, boolean>();
  readonly #texts = new Map<boolean, string>();
  #own = nothing;
  #project = nothing;
  trusted = true;
  hostAllowed: readonly string[] | null = null;

  constructor(bound: readonly string[] | null) {
    this.#bound = bound;
  }

  copy(): DesiredModel {
    const copy = new DesiredModel(this.#bound);
    copy.#own = this.#own;
    copy.#project = this.#project;
    copy.trusted = this.trusted;
    copy.hostAllowed = this.hostAllowed;
    for (const [key, value] of this.#granted) copy.#granted.set(key, value);
    return copy;
  }

  /** What was read; a text that is no JSON leaves the last good one in force. */
  read(isProject: boolean, text: string | undefined): void {
    if (text === undefined || text === this.#texts.get(isProject)) return;
    this.#texts.set(isProject, text);
    try {
      const content = JSON.parse(text) as FileContent;
      if (isProject) this.#project = content;
      else this.#own = content;
    } catch {
      // The last good content stays.
    }
  }

  names(): readonly string[] {
    const names = [this.#own, this.#project].flatMap(({ mcpServers }) => Object.keys(mcpServers));
    return [...new Set(names)];
  }

  find(name: string): Found | undefined {
    const own = this.#own.mcpServers[name];
    if (own !== undefined) return { entry: own, isGated: false };
    const brought = this.#project.mcpServers[name];
    return brought === undefined ? undefined : { entry: brought, isGated: true };
  }

  decide(name: string, decision: 'grant' | 'reject' | 'revoke'): void {
    const found = this.find(name);
    if (found === undefined) return;
    const key = decisionKey(name, found);
    if (decision === 'revoke') this.#granted.delete(key);
    else this.#granted.set(key, decision === 'grant');
  }

  isPermitted(name: string): boolean {
    const found = this.find(name);
    if (found === undefined || found.entry.enabled === false) return false;
    if (found.isGated && !this.trusted) return false;
    const files = [this.#own, this.#project];
    if (files.some(({ mcp }) => mcp?.excluded?.includes(name) === true)) return false;
    const lists = [this.hostAllowed, this.#bound, ...files.map(({ mcp }) => mcp?.allowed)];
    if (lists.some((list) => list !== null && list !== undefined && !list.includes(name))) {
      return false;
    }
    return !found.isGated || this.#granted.get(decisionKey(name, found)) === true;
  }

  generationOf(name: string): string | undefined {
    const found = this.find(name);
    return found === undefined ? undefined : generationOf(found.entry);
  }
}

function decisionKey(name: string, { entry, isGated }: Found): string {
  return `${name} ${isGated} ${generationOf(entry)}`;
}

const generations = new WeakMap<Entry, string>();

function generationOf(entry: Entry): string {
  const known = generations.get(entry);
  if (known !== undefined) return known;
  const { command, args = [], env = {}, url = '' } = entry;
  const generation = fingerprintOf(
    command === undefined
      ? { type: 'http', era: 'auto', url, headers: {}, fallback: 'sse' }
      : { type: 'stdio', era: 'auto', command, args, env, cwd: '/project' },
  );
  generations.set(entry, generation);
  return generation;
}
