/** The servers on the other side: each does what its behavior says, in virtual time. */

import type { Failure } from '../../../src/domain/failure.ts';
import type { ListedTool } from '../../../src/domain/tool.ts';
import type {
  ScriptedCall,
  ScriptedCommand,
  SessionScript,
} from '../../../src/testing/session-script.ts';
import type { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import type { QuestionLedger } from './question-ledger.ts';
import type { Random } from './random.ts';
import type { Behavior } from './steps.ts';

export interface PeerOptions {
  readonly clock: VirtualClock;
  readonly random: Random;
  /** How long a flapping server lives, in milliseconds. */
  readonly flapMs: readonly [low: number, high: number];
  readonly questions: QuestionLedger;
}

export class Peers {
  readonly #options: PeerOptions;
  readonly #behaviors = new Map<string, Behavior>();
  readonly #revisions = new Map<string, number>();
  readonly #timers = new Set<unknown>();
  /** What each server listed last, by session. */
  readonly listed = new Map<SessionScript, readonly ListedTool[]>();
  /** Calls that certainly ran, by their number. */
  readonly executed = new Map<number, number>();
  /** Sessions that ever answered whether they live. */
  readonly answered = new WeakSet<SessionScript>();
  losses = 0;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  behave(server: string, behavior: Behavior): void {
    this.#behaviors.set(server, behavior);
  }

  behaviorOf(server: string): Behavior {
    return this.#behaviors.get(server) ?? 'obeys';
  }

  healAll(): void {
    this.#behaviors.clear();
  }

  /** How many timers of the peers are set; they share the clock with the runtime. */
  get timerCount(): number {
    return this.#timers.size;
  }

  /** From now on no peer does anything of its own accord. */
  silence(): void {
    for (const timer of this.#timers) this.#options.clock.clearTimeout(timer);
    this.#timers.clear();
  }

  onCommand(script: SessionScript, { type }: { readonly type: ScriptedCommand }): void {
    if (type === 'session.open') this.#soon(60, () => this.#open(script));
    if (type === 'session.list') this.#soon(60, () => this.#list(script));
    if (type === 'session.probe') this.#soon(60, () => this.#answerProbe(script));
    if (type === 'session.kill' && script.state === 'closing')
      this.#soon(5, () => this.#end(script));
    if (type !== 'session.close' || script.state !== 'closing') return;
    if (this.behaviorOf(script.input.server) === 'hangsAtClose') return;
    this.#soon(150, () => this.#end(script));
  }

  #end(script: SessionScript): void {
    if (script.state === 'closing') script.closed();
  }

  onCall(script: SessionScript, call: ScriptedCall): void {
    const number = call.args['number'] as number;
    const behavior = this.behaviorOf(script.input.server);
    if (behavior === 'losesCalls') {
      this.#soon(20, () => call.fail({ reason: 'notSent', written: false, message: 'Not sent.' }));
      return;
    }
    this.executed.set(number, (this.executed.get(number) ?? 0) + 1);
    if (behavior === 'hangsCalls') return;
    if (behavior === 'asksBack') {
      this.#soon(400, () => this.#askBack(script, call));
      return;
    }
    this.#soon(400, () => {
      if (behavior === 'crashesAtCalls') this.crash(script);
      else if (behavior === 'failsCalls') {
        call.fail({ reason: 'serverError', rpcCode: -32603, written: true, message: 'Oops.' });
      } else call.answer({ content: [] });
    });
  }

  /** Asks a question, for the call or for none, and answers the call once the question is settled. */
  #askBack(script: SessionScript, call: ScriptedCall): void {
    if (script.state !== 'open') return;
    const { random, questions } = this.#options;
    const isOfCall = random.isTrue(0.7);
    questions.ask(script, isOfCall ? call : undefined, () => call.answer({ content: [] }));
    if (random.isTrue(0.2)) this.#soon(2_000, () => call.answer({ content: [] }));
  }

  /** Does something a little later, unless all is silent by then. */
  later(act: () => void): void {
    this.#soon(90_000, act);
  }

  crash(script: SessionScript, failure: Failure = died): void {
    if (script.state !== 'opening' && script.state !== 'open') return;
    if (script.state === 'open') this.losses += 1;
    script.fail(failure);
  }

  notify(script: SessionScript): void {
    if (script.state !== 'open') return;
    const { server } = script.input;
    this.#revisions.set(server, (this.#revisions.get(server) ?? 0) + 1);
    script.notify();
  }

  #open(script: SessionScript): void {
    if (script.state !== 'opening') return;
    const failure = failureAtOpen[this.behaviorOf(script.input.server)];
    if (failure === 'hang') return;
    if (failure !== undefined) this.crash(script, failure);
    else script.open({ pid: 1_000 + script.input.session });
  }

  #list(script: SessionScript): void {
    if (script.state !== 'open') return;
    const { server } = script.input;
    const behavior = this.behaviorOf(server);
    if (behavior === 'hangsAtList') return;
    if (behavior === 'failsList') {
      script.failList({ kind: 'protocol', message: 'The list makes no sense.' });
      return;
    }
    const isFirst = !this.listed.has(script);
    const tools = toolsOf(this.#revisions.get(server) ?? 0);
    this.listed.set(script, tools);
    script.list(tools);
    if (!isFirst || behavior !== 'flaps') return;
    const [low, high] = this.#options.flapMs;
    this.#after(this.#options.random.int(low, high), () => {
      if (this.behaviorOf(server) === 'flaps') this.crash(script);
    });
  }

  #answerProbe(script: SessionScript): void {
    if (script.state !== 'open' || this.behaviorOf(script.input.server) === 'hangsWhenAsked')
      return;
    this.answered.add(script);
    script.probed(script.input.session % 2 === 0 ? 'unknownMethod' : 'alive');
  }

  #soon(longestMs: number, act: () => void): void {
    this.#after(this.#options.random.int(0, longestMs), act);
  }

  #after(ms: number, act: () => void): void {
    const timer = this.#options.clock.setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}

const died: Failure = { kind: 'crashed', message: 'It died.', exitCode: 1 };

const failureAtOpen: Readonly<Partial<Record<Behavior, Failure | 'hang'>>> = {
  refuses: { kind: 'unavailable', message: 'It refused.' },
  hangsAtOpen: 'hang',
  wantsLogin: { kind: 'authRequired', message: 'Log in.' },
  exitsCleanly: { kind: 'cleanExit', message: 'It left.', exitCode: 0 },
  lacksVersion: { kind: 'versionUnsupported', message: 'Too old.' },
};

function toolsOf(revision: number): readonly ListedTool[] {
  return ['query', 'drop_all', `extra_${revision % 3}`].map((name) => ({
    name,
    inputSchema: { type: 'object' },
  }));
}
