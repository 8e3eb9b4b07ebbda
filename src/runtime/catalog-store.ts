import type { ListedTool } from '../domain/tool.ts';
import { deepFreeze } from '../policies/deep-freeze.ts';

// More than the servers of a large host, so that what is in use is never dropped.
const rememberedCatalogs = 1_000;

/**
 * The tools that servers announced, by server and generation. Charts know only
 * that a list exists and where it comes from; its contents are here.
 */
export class CatalogStore {
  readonly #tools = new Map<string, readonly ListedTool[]>();
  readonly #onPut: (server: string) => void;

  constructor(onPut: (server: string) => void) {
    this.#onPut = onPut;
  }

  put(server: string, generation: string, tools: readonly ListedTool[]): void {
    const key = keyOf(server, generation);
    this.#tools.delete(key);
    // Callers get these very objects.
    this.#tools.set(key, deepFreeze(tools));
    for (const oldest of this.#tools.keys()) {
      if (this.#tools.size <= rememberedCatalogs) break;
      this.#tools.delete(oldest);
    }
    this.#onPut(server);
  }

  /** Empty when nothing is known. */
  get(server: string, generation: string): readonly ListedTool[] {
    return this.#tools.get(keyOf(server, generation)) ?? [];
  }
}

function keyOf(server: string, generation: string): string {
  return `${generation}:${server}`;
}
