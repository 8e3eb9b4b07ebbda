/** One simulated world: a real troupe, scripted peers, files in memory, and a model of what should be. */

import { createHash } from 'node:crypto';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import type { HostEvent } from '../../../src/domain/host/event.ts';
import { TroupeError } from '../../../src/domain/troupe-error.ts';
import type { RootSnapshot } from '../../../src/runtime/status/board.ts';
import {
  createScriptedTroupe,
  projectFile,
  type ScriptedTroupe,
  settingsFile,
} from '../../../src/testing/scripted-troupe.ts';
import type { SessionScript } from '../../../src/testing/session-script.ts';
import { DesiredModel, type Entry, type FileContent } from './desired-model.ts';
import { Peers } from './peers.ts';
import { QuestionLedger } from './question-ledger.ts';
import { Random } from './random.ts';
import type { Edit, Step } from './steps.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly servers: readonly string[];
  /** How many of them, the last ones, are brought by the folder. */
  readonly gatedCount: number;
  readonly flapMs: readonly [low: number, high: number];
  /** Given at launch; null = all may connect. */
  readonly bound: readonly string[] | null;
  /** How many records are kept of what the charts do. Default: nothing is recorded. */
  readonly records?: number;
  /** Sees every event of the charts. */
  readonly inspect?: (event: InspectionEvent) => void;
}

export interface SimulatedCall {
  readonly number: number;
  readonly server: string;
  readonly deadlineAt: number;
  readonly controller: AbortController;
  settledAt: number | undefined;
  settledCount: number;
  /** `ok`, or code and outcome of the error. */
  outcome: string | undefined;
}

export interface Start {
  readonly at: number;
  readonly server: string;
  readonly generation: string;
}

/** A value that must never be seen outside the settings. */
const secret = 'hunter2-very-secret';

export class World {
  readonly scripted: ScriptedTroupe;
  readonly model: DesiredModel;
  readonly peers: Peers;
  readonly calls: SimulatedCall[] = [];
  #recentCalls: SimulatedCall[] = [];
  readonly starts: Start[] = [];
  readonly questions: QuestionLedger;
  /** Problems found between two steps, where they could not be reported at once. */
  readonly findings: string[] = [];
  /** When a person, an edit or a decision last touched each server. */
  readonly touchedAt = new Map<string, number>();
  readonly #servers: readonly string[];
  readonly #hash = createHash('sha256');
  readonly #entries: { readonly own: Map<string, Entry>; readonly project: Map<string, Entry> };
  #mcp: FileContent['mcp'];
  #isBroken = false;
  #root: AnyActorRef | undefined;
  /** The model before the reading of this very moment. */
  #earlier: { readonly model: DesiredModel; readonly until: number } | undefined;
  isStopping = false;
  /** When the machine woke last. */
  wokenAt: number | undefined;

  constructor({ seed, servers, gatedCount, flapMs, bound, records, inspect }: WorldOptions) {
    this.#servers = servers;
    const own = servers.slice(0, servers.length - gatedCount);
    const gated = servers.slice(servers.length - gatedCount);
    this.#entries = {
      own: new Map(own.map((name, index) => [name, firstEntry(name, index)])),
      project: new Map(gated.map((name, index) => [name, firstEntry(name, index)])),
    };
    this.model = new DesiredModel(bound);
    this.questions = new QuestionLedger(new Random(seed ^ 0x51));
    this.scripted = createScriptedTroupe({
      seed,
      settings: this.#ownContent(),
      projectSettings: this.#projectContent(),
      ...(bound === null ? {} : { allow: bound }),
      ...(records === undefined ? {} : { record: { records } }),
      onQuestion: this.questions.handler,
      inspect: (event) => {
        this.#root ??= event.actorRef as AnyActorRef;
        inspect?.(event);
      },
    });
    this.peers = new Peers({
      clock: this.scripted.clock,
      random: new Random(~seed),
      flapMs,
      questions: this.questions,
    });
    this.#listen();
  }

  get root(): AnyActorRef {
    if (this.#root === undefined) throw new Error('The root has not started.');
    return this.#root;
  }

  get now(): number {
    return this.scripted.clock.now();
  }

  /** What wall time is ahead of the clock. */
  get wallOffsetMs(): number {
    return this.scripted.clock.wallNow() - this.scripted.clock.now();
  }

  get scripts(): readonly SessionScript[] {
    return this.scripted.sessions.scripts;
  }

  /** Adds a line to what is compared between two runs of one seed. */
  log(line: string): void {
    const stamped = `${this.now} ${line}\n`;
    if (stamped.includes(secret)) this.findings.push(`a secret leaked: ${line}`);
    this.#hash.update(stamped);
  }

  /** Calls under way, and those that settled since the last question. */
  recentCalls(): readonly SimulatedCall[] {
    const recent = this.#recentCalls;
    this.#recentCalls = recent.filter(({ outcome }) => outcome === undefined);
    return recent;
  }

  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Whether the server may run, as this generation if one is given, by what holds now or held a moment ago. */
  isPermitted(server: string, generation?: string): boolean {
    const models = [this.model];
    if (this.#earlier?.until === this.now) models.push(this.#earlier.model);
    return models.some(
      (model) =>
        model.isPermitted(server) &&
        (generation === undefined || model.generationOf(server) === generation),
    );
  }

  /** Takes one step; what it causes at once has happened when this settles. */
  async take(step: Step): Promise<void> {
    if (step.kind === 'advance') await this.scripted.advance(step.ms);
    else this.#act(step);
    await this.scripted.settle();
  }

  /** Ends all faults: peers obey, files can be read, the watch hears. */
  heal(): void {
    this.peers.healAll();
    this.#isBroken = false;
    this.scripted.files.isWatched = true;
    this.#write();
    this.send({ type: 'settings.reload' });
  }

  send(event: HostEvent): void {
    try {
      this.scripted.troupe.send(event);
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      this.log(`refused ${event.type} ${error.code}`);
    }
  }

  #act(step: Exclude<Step, { readonly kind: 'advance' }>): void {
    switch (step.kind) {
      case 'edit':
        this.#edit(step.server, step.edit, step.value);
        return;
      case 'swap':
        this.#swap(step.server, step.other);
        return;
      case 'lists':
        this.#touchAll();
        this.#mcp = {
          excluded: step.excluded,
          ...(step.allowed === null ? {} : { allowed: step.allowed }),
        };
        this.#write();
        return;
      case 'breakFile':
      case 'repairFile':
        this.#isBroken = step.kind === 'breakFile';
        this.#write();
        return;
      case 'touchFile':
        this.scripted.files.touch();
        return;
      case 'deafen':
        this.scripted.files.isWatched = false;
        return;
      case 'reload':
        this.scripted.files.isWatched = true;
        this.send({ type: 'settings.reload' });
        return;
      case 'behave':
        this.peers.behave(step.server, step.behavior);
        return;
      case 'call':
        for (let count = 0; count < step.count; count += 1) this.#call(step.server, step.timeoutMs);
        return;
      case 'cancel':
        this.#cancel(step.nth);
        return;
      default:
        this.#tell(step);
    }
  }

  #tell(
    step: Extract<
      Step,
      {
        readonly kind:
          | 'decide'
          | 'trust'
          | 'hostAllow'
          | 'command'
          | 'crash'
          | 'notify'
          | 'impair'
          | 'recover'
          | 'lateFact'
          | 'wake';
      }
    >,
  ): void {
    switch (step.kind) {
      case 'decide':
        this.#decide(step.server, step.decision, step.isStale);
        return;
      case 'trust':
        this.#touchAll();
        this.model.trusted = step.trusted;
        this.send({ type: 'trust.changed', trusted: step.trusted });
        return;
      case 'hostAllow':
        this.#touchAll();
        this.model.hostAllowed = step.allowed;
        this.send({ type: 'allow.changed', allowed: step.allowed });
        return;
      case 'command':
        this.touchedAt.set(step.server, this.now);
        this.send({ type: `server.${step.command}`, server: step.server });
        return;
      case 'wake':
        this.wokenAt = this.now;
        this.send({ type: 'system.woke' });
        return;
      case 'lateFact':
        this.#sendLateFact(step.server);
        return;
      default:
        this.#disturb(step.kind, step.server);
    }
  }

  #disturb(kind: 'crash' | 'notify' | 'impair' | 'recover', server: string): void {
    const script = this.scripts.findLast(({ input }) => input.server === server);
    if (script === undefined || script.state === 'over') return;
    if (kind === 'crash') this.peers.crash(script);
    else if (kind === 'notify') this.peers.notify(script);
    else if (script.state === 'open') script[kind]('healthCheck');
  }

  /** Calls of a session that ended long ago; the session itself reports nothing once it was stopped. */
  #sendLateFact(server: string): void {
    const { actors } = (this.root.getSnapshot() as RootSnapshot).context;
    const actor = actors.get(`${server}.0`) ?? actors.get(`${server}.1`);
    if (actor === undefined) return;
    const session = actor.getSnapshot().context.session - 1;
    const stamp = { session, at: this.now };
    actor.send({ type: 'calls.began', session });
    actor.send({ type: 'call.failed', ...stamp });
    actor.send({ type: 'call.succeeded', session });
    actor.send({ type: 'calls.drained', session });
  }

  #decide(server: string, decision: 'grant' | 'reject' | 'revoke', isStale: boolean): void {
    this.touchedAt.set(server, this.now);
    if (isStale) {
      const fingerprint = createHash('sha256').update(server).digest('hex');
      this.send({ type: `approval.${decision}`, server, fingerprint });
      return;
    }
    this.model.decide(server, decision);
    this.send({ type: `approval.${decision}`, server });
  }

  #call(server: string, timeoutMs: number): void {
    const call: SimulatedCall = {
      number: this.calls.length,
      server,
      deadlineAt: this.now + timeoutMs,
      controller: new AbortController(),
      settledAt: undefined,
      settledCount: 0,
      outcome: undefined,
    };
    this.calls.push(call);
    this.#recentCalls.push(call);
    const settle = (outcome: string): void => {
      call.outcome = outcome;
      call.settledAt = this.now;
      call.settledCount += 1;
      this.log(`call ${call.number} ${server} ${outcome}`);
    };
    const args = { number: call.number };
    this.scripted.troupe
      .callServerTool(server, 'query', args, { timeoutMs, signal: call.controller.signal })
      .then(
        () => settle('ok'),
        (error: unknown) => {
          if (error instanceof TroupeError) settle(`${error.code} ${error.outcome}`);
          else settle(`no TroupeError: ${String(error)}`);
        },
      );
  }

  #cancel(nth: number): void {
    const waiting = this.#recentCalls.filter(({ outcome }) => outcome === undefined);
    waiting[nth]?.controller.abort();
  }

  #edit(server: string, edit: Edit, value: number): void {
    const { own, project } = this.#entries;
    const isOwn = !project.has(server) && (own.has(server) || value % 2 === 0);
    const entries = isOwn ? own : project;
    const entry = entries.get(server) ?? firstEntry(server, value);
    if (edit === 'remove') entries.delete(server);
    else entries.set(server, edited(entry, edit, value));
    this.#write();
  }

  #swap(server: string, other: string): void {
    const [mine, theirs] = [this.#entries.own.get(server), this.#entries.own.get(other)];
    if (mine === undefined || theirs === undefined) return;
    this.#entries.own.set(server, theirs);
    this.#entries.own.set(other, mine);
    this.#write();
  }

  /** Admission may change for any of them, which is a new beginning. */
  #touchAll(): void {
    for (const server of this.#servers) this.touchedAt.set(server, this.now);
  }

  #write(): void {
    const { files } = this.scripted;
    files.write(settingsFile, this.#isBroken ? '{ "mcpServers": { ' : this.#ownContent());
    files.write(projectFile, this.#projectContent());
  }

  #ownContent(): Record<string, unknown> {
    const mcpServers = Object.fromEntries(this.#entries.own);
    return this.#mcp === undefined ? { mcpServers } : { mcpServers, mcp: this.#mcp };
  }

  #projectContent(): Record<string, unknown> {
    return { mcpServers: Object.fromEntries(this.#entries.project) };
  }

  #listen(): void {
    const { troupe, files, sessions } = this.scripted;
    // The first reading has begun already.
    for (const file of [settingsFile, projectFile]) {
      this.model.read(file === projectFile, files.text(file));
    }
    files.onRead = (file, text) => {
      if (this.#earlier?.until !== this.now) {
        this.#earlier = { model: this.model.copy(), until: this.now };
      }
      this.model.read(file === projectFile, text);
    };
    troupe.on('status.changed', ({ status }) => this.log(JSON.stringify(status)));
    this.questions.follow(troupe, (act) => this.peers.later(act));
    troupe.on('tools.changed', ({ servers }) => this.log(`tools ${servers.join()}`));
    troupe.on('reconciled', ({ plan }) => {
      this.log(`plan ${plan.map(({ server, step }) => `${server} ${step}`).join()}`);
    });
    troupe.on('approval.needed', ({ server }) => this.log(`approve ${server}`));
    sessions.onCommand = (script, command) => {
      this.log(`${script.input.actorId} ${command.type}`);
      if (command.type === 'session.open') this.#onOpen(script);
      if (command.type === 'session.close') this.#onClose(script);
      this.peers.onCommand(script, command);
    };
    sessions.onCall = (script, call) => {
      const { server } = script.input;
      const status = troupe.status(server);
      if (status?.circuit !== 'closed') {
        this.findings.push(
          `11: a call was sent to ${server} though its circuit is ${status?.circuit}`,
        );
      }
      this.peers.onCall(script, call);
    };
  }

  #onOpen({ input: { server, generation } }: SessionScript): void {
    this.starts.push({ at: this.now, server, generation });
    if (!this.isPermitted(server, generation)) {
      this.findings.push(`1: ${server} connects though it may not`);
    }
  }

  /** A session that serves is closed for a reason: an edit, a person, or long idleness. */
  #onClose(script: SessionScript): void {
    const { server, generation } = script.input;
    if (this.isStopping || !this.peers.listed.has(script)) return;
    const isTouched = this.touchedAt.get(server) === this.now;
    const isStillWanted =
      this.model.isPermitted(server) && this.model.generationOf(server) === generation;
    const canIdle = this.model.find(server)?.entry.idleStopMs !== undefined;
    const isMute = this.peers.behaviorOf(server) === 'hangsWhenAsked';
    const atWork = script.calls.filter(({ isSettled }) => !isSettled).length;
    if (isMute && isStillWanted && !isTouched && atWork > 0) {
      this.findings.push(
        `18: ${server} was given up for its silence while it worked on ${atWork} calls`,
      );
    }
    if (isStillWanted && !isTouched && !canIdle && !isMute) {
      this.findings.push(`4: ${server} was closed though nothing about it changed`);
    }
  }

  get servers(): readonly string[] {
    return this.#servers;
  }
}

function firstEntry(name: string, index: number): Entry {
  const handover = index % 2 === 0 ? { handover: 'seamless' as const } : {};
  if (index % 3 === 2) return { url: `https://${name}.test/mcp`, ...handover };
  const startup = index % 4 === 1 ? { startup: 'lazy' as const } : {};
  return { command: name, env: { TOKEN: secret }, ...startup, ...handover };
}

function edited(entry: Entry, edit: Edit, value: number): Entry {
  const { url: _url, command: _command, args: _args, env: _env, ...rest } = entry;
  const isLocal = entry.command !== undefined;
  switch (edit) {
    case 'args':
      return isLocal
        ? { ...entry, args: [`${value}`] }
        : { ...entry, url: `https://${value}.test` };
    case 'tools':
      return { ...entry, tools: { exclude: value % 2 === 0 ? ['drop_*'] : [] } };
    case 'timeout':
      return { ...entry, timeoutMs: value * 10_000 };
    case 'handover':
      return { ...entry, handover: value % 2 === 0 ? 'seamless' : 'exclusive' };
    case 'startup':
      return { ...entry, startup: value % 2 === 0 ? 'lazy' : 'eager' };
    case 'idleStop':
      return { ...entry, idleStopMs: value * 5_000 };
    case 'enabled':
      return { ...entry, enabled: value % 3 !== 0 };
    case 'carrier':
      return isLocal
        ? { ...rest, url: `https://${value}.test/mcp` }
        : { ...rest, command: `c${value}`, env: { TOKEN: secret } };
    case 'restart':
      return { ...entry, restart: (['auto', 'never', 'always'] as const)[value % 3] ?? 'auto' };
    case 'health':
      return {
        ...entry,
        policy: { health: { mode: value === 4 ? 'off' : 'ping', everyMs: value * 2_000 } },
      };
    case 'add':
    case 'remove':
      return entry;
  }
}
