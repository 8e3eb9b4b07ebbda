/**
 * Knows whether Docker can run its MCP gateway, and keeps quiet until asked.
 *
 * The first question starts a look; it is answered as soon as it is known whether
 * there is a program at all, and with `undefined` while Docker thinks: no other
 * server waits for Docker. Who listens is told when what was answered turned out
 * wrong. That the gateway is there is remembered until `lookAgain`, that it is not
 * for a minute; meanwhile the last answer holds. One look at a time.
 *
 * Never rejects. `dispose` ends what is still running, and nothing is told after it.
 */

import type { DockerFinding } from '../../src/config/docker-gateway.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import type { ProcessKeeper } from '../processes/keeper.ts';
import type { DockerLook, DockerLookPorts } from './docker-gateway-look.ts';

export interface DockerGateway {
  /** Names of the variables that `docker` is to see. */
  readonly variables: readonly string[];
  /** What is known; undefined while the first look goes on. Looks, if need be. */
  finding(): Promise<DockerFinding | undefined>;
  /** Lets the next question look, whatever is known. */
  lookAgain(): void;
  /** Settles when no look goes on; says whether one did. */
  settled(): Promise<boolean>;
  /** Sets who is told that an answer no longer holds. */
  listen(listener: () => void): void;
  dispose(): void;
}

export interface DockerGatewayPorts {
  readonly clock: Clock;
  readonly env: Variables;
  /** Absolute path of the folder in which `docker` is run. */
  readonly projectRoot: string;
  /** Asked late: who keeps account may not be there yet. */
  readonly processes?: () => ProcessKeeper | undefined;
  /** Default: asks the program `docker`. */
  readonly look?: (ports: DockerLookPorts) => DockerLook;
}

// As long as a person takes to start Docker: the next edit of a file then finds it.
const absenceMs = 60_000;

export function createDockerGateway(ports: DockerGatewayPorts): DockerGateway {
  return new Gateway(ports);
}

class Gateway implements DockerGateway {
  readonly variables: readonly string[];
  readonly #ports: DockerGatewayPorts;
  readonly #leave = new AbortController();
  #listener: () => void = () => {};
  #known: { readonly finding: DockerFinding; readonly at: number } | undefined;
  /** What the last answer came to. */
  #told: DockerFinding | undefined;
  #isDoubted = false;
  #look: { readonly begun: Promise<unknown>; readonly ended: Promise<void> } | undefined;

  constructor(ports: DockerGatewayPorts) {
    this.#ports = ports;
    this.variables = dockerVariablesIn(ports.env);
  }

  async finding(): Promise<DockerFinding | undefined> {
    if (this.#look === undefined && this.#isUnsure() && !this.#leave.signal.aborted) this.#begin();
    await this.#look?.begun;
    const finding = this.#known?.finding;
    this.#told = finding ?? { isThere: true };
    return finding;
  }

  lookAgain(): void {
    this.#isDoubted = true;
  }

  async settled(): Promise<boolean> {
    const look = this.#look;
    await look?.ended;
    return look !== undefined;
  }

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
    const look = this.#start();
    const ended = look
      .then(({ found }) => found)
      .catch(unaskable)
      .then((finding) => {
        this.#end(finding);
      });
    const begun = look.then(({ begun: running }) => Promise.race([running, ended]));
    this.#look = { begun: begun.catch(() => ended), ended };
  }

  async #start(): Promise<DockerLook> {
    const { clock, env, projectRoot, processes } = this.#ports;
    // Nearly nobody wants it: what it takes to run a program is loaded for those who do.
    const look = this.#ports.look ?? (await import('./docker-gateway-look.ts')).lookForDocker;
    const { variables } = this;
    const { signal } = this.#leave;
    return look({ clock, env, projectRoot, variables, signal, processes: processes?.() });
  }

  #end(finding: DockerFinding): void {
    this.#look = undefined;
    this.#known = { finding, at: this.#ports.clock.now() };
    if (this.#told === undefined || this.#leave.signal.aborted) return;
    if (!equalTyped(finding, this.#told)) this.#listener();
  }
}

/** A mistake of ours; it must cost this server, not all settings. */
function unaskable(error: unknown): DockerFinding {
  return { isThere: false, lack: 'program', said: `cannot be asked (${String(error)})` };
}

/** All that `docker` is configured by; of the rest it gets what every server gets. */
function dockerVariablesIn(env: Variables): readonly string[] {
  const isMeant = (name: string): boolean =>
    /^(?:DOCKER_[A-Z0-9_]+|XDG_RUNTIME_DIR)$/u.test(name) && (env[name] ?? '') !== '';
  return Object.keys(env).filter(isMeant).sort();
}
