/**
 * Determines, on demand, whether Docker can run its MCP gateway.
 *
 * The first request starts a check. It resolves as soon as the program is known to exist, with
 * `undefined` while Docker is still working, so no other server waits for Docker. The listener is
 * called if the result turns out wrong. An available gateway is remembered until `checkAgain`, a
 * missing one for a minute. Only one check runs at a time.
 *
 * Never rejects. `dispose` ends a running check; the listener is not called afterwards.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import type { DockerFinding } from '../../src/settings/docker-gateway.ts';
import type { ProcessKeeper } from '../processes/started-processes.ts';
import type { checkDocker } from './docker-check.ts';

/** The class's public interface, which tests replace. */
export type DockerGateway = Pick<Gateway, keyof Gateway>;

export interface DockerGatewayPorts {
  readonly clock: Clock;
  readonly env: Variables;
  /** Absolute path of the folder in which `docker` is run. */
  readonly projectRoot: string;
  /** Called late, because the keeper may not exist yet. */
  readonly processes?: () => ProcessKeeper | undefined;
  /** Default: runs `docker`. */
  readonly check?: typeof checkDocker;
}

// About as long as a user takes to start Docker; the next file edit then finds it.
const absenceMs = 60_000;

export function createDockerGateway(ports: DockerGatewayPorts): DockerGateway {
  return new Gateway(ports);
}

class Gateway {
  /** Names of the variables that are passed to `docker`. */
  readonly variables: readonly string[];
  readonly #ports: DockerGatewayPorts;
  readonly #leave = new AbortController();
  #listener: () => void = () => {};
  #known: { readonly finding: DockerFinding; readonly at: number } | undefined;
  /** The last result that was returned. */
  #answered: DockerFinding | undefined;
  #isDoubted = false;
  #check: { readonly begun: Promise<unknown>; readonly ended: Promise<void> } | undefined;

  constructor(ports: DockerGatewayPorts) {
    this.#ports = ports;
    this.variables = dockerVariablesIn(ports.env);
  }

  /** Resolves with the last result; undefined during the first check. Starts a check if one is due. */
  async finding(): Promise<DockerFinding | undefined> {
    if (this.#check === undefined && this.#isUnsure() && !this.#leave.signal.aborted) this.#begin();
    await this.#check?.begun;
    const finding = this.#known?.finding;
    this.#answered = finding ?? { isThere: true };
    return finding;
  }

  /** Makes the next request start a check, whatever is known. */
  checkAgain(): void {
    this.#isDoubted = true;
  }

  /** Resolves once no check is running, with whether one was running. */
  async settled(): Promise<boolean> {
    const check = this.#check;
    await check?.ended;
    return check !== undefined;
  }

  /** Sets the function that is called when an earlier result no longer holds. */
  listen(listener: () => void): void {
    this.#listener = listener;
  }

  dispose(): void {
    this.#leave.abort();
  }

  #isUnsure(): boolean {
    if (this.#known === undefined || this.#isDoubted) return true;
    const { finding, at } = this.#known;
    return !finding.isThere && this.#ports.clock.now() - at >= absenceMs;
  }

  #begin(): void {
    this.#isDoubted = false;
    const check = this.#start();
    const ended = check
      .then(({ found }) => found)
      .catch(unaskable)
      .then((finding) => {
        this.#end(finding);
      });
    const begun = check.then(({ begun: running }) => Promise.race([running, ended]));
    this.#check = { begun: begun.catch(() => ended), ended };
  }

  async #start(): Promise<ReturnType<typeof checkDocker>> {
    const { clock, env, projectRoot, processes } = this.#ports;
    // Few troupes need it, so the code that runs programs is loaded on demand.
    const check = this.#ports.check ?? (await import('./docker-check.ts')).checkDocker;
    const { variables } = this;
    const { signal } = this.#leave;
    return check({ clock, env, projectRoot, variables, signal, processes: processes?.() });
  }

  #end(finding: DockerFinding): void {
    this.#check = undefined;
    this.#known = { finding, at: this.#ports.clock.now() };
    if (this.#answered === undefined || this.#leave.signal.aborted) return;
    if (!equalTyped(finding, this.#answered)) this.#listener();
  }
}

/** A bug of ours must cost this server only, not all settings. */
function unaskable(error: unknown): DockerFinding {
  return { isThere: false, lack: 'program', said: `cannot be asked (${String(error)})` };
}

/** All variables that configure `docker`; it also gets the variables that every server gets. */
function dockerVariablesIn(env: Variables): readonly string[] {
  const isMeant = (name: string): boolean =>
    /^(?:DOCKER_[A-Z0-9_]+|XDG_RUNTIME_DIR)$/u.test(name) && (env[name] ?? '') !== '';
  return Object.keys(env).filter(isMeant).sort();
}
