/**
 * The messages in flight to a remote server, each in its own POST.
 *
 * A POST that is no longer needed is aborted: a request's POST when the request is given up, or
 * when it has been answered but the server keeps the POST or its stream open; any other POST after
 * a while. A server that never closes a response therefore holds no more of our connections than
 * there are calls.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { type Clock, startDeadline } from '../../../src/domain/clock.ts';
import { NotSentError } from '../../../src/protocol/errors.ts';
import { methods } from '../../../src/protocol/methods.ts';
import { Abort } from '../../host/abort.ts';

// Nothing follows the response, but a POST that ends by itself leaves a connection to reuse.
const lingerMs = 5_000;
// A notification or a response only needs to be accepted.
const acceptMs = 30_000;
// A server that sends requests faster than it accepts our responses receives no more of them.
const maxAnswers = 32;

const questions: ReadonlySet<string> = new Set([methods.ping.name, methods.discover.name]);

type Id = string | number;

export class Post {
  /** The request's id; undefined for other messages. */
  readonly id: Id | undefined;
  readonly isAnswer: boolean;
  /** Whether this is a request that may take a long time, unlike a probe. */
  readonly isWork: boolean;
  /** Whether this is a request that stays unanswered for as long as the session lasts. */
  readonly isSubscription: boolean;
  /** Whether the response is an event stream, which outlives `send`. */
  isStreaming = false;
  readonly signal = new Abort();
  #stopTimer: (() => void) | undefined;

  constructor(message: JSONRPCMessage) {
    const isRequest = 'method' in message && 'id' in message;
    this.id = isRequest ? message.id : undefined;
    this.isAnswer = !('method' in message);
    this.isWork = isRequest && !questions.has(message.method);
    this.isSubscription = isRequest && message.method === methods.listen.name;
  }

  breakOff(why = 'The request was given up.'): void {
    this.stopTimer();
    this.signal.abort(new Error(why));
  }

  breakOffAfter(clock: Clock, delayMs: number): void {
    this.stopTimer();
    const why = `The server kept a message waiting for ${delayMs} ms.`;
    this.#stopTimer = startDeadline(clock, delayMs, () => this.breakOff(why));
  }

  stopTimer(): void {
    this.#stopTimer?.();
  }
}

export class Posts {
  readonly #clock: Clock;
  readonly #open = new Set<Post>();
  readonly #unanswered = new Map<Id, Post>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of unanswered requests. */
  get unansweredCount(): number {
    return this.#unanswered.size;
  }

  /** The number of unanswered requests that may keep the server busy. */
  get workCount(): number {
    const posts = [...this.#unanswered.values()];
    return posts.filter(({ isWork, isSubscription }) => isWork && !isSubscription).length;
  }

  /** Throws a {@link NotSentError} if too many responses are in flight. */
  begin(message: JSONRPCMessage): Post {
    const post = new Post(message);
    const isAnswering = (open: Post): boolean => open.isAnswer;
    if (post.isAnswer && [...this.#open].filter(isAnswering).length >= maxAnswers)
      throw new NotSentError('The server does not take the answers to its requests.');
    this.#open.add(post);
    if (post.id === undefined) post.breakOffAfter(this.#clock, acceptMs);
    else this.#unanswered.set(post.id, post);
    return post;
  }

  /** Records that a POST has ended; its request may still be answered on another stream. */
  end(post: Post): void {
    if (this.#open.delete(post)) post.stopTimer();
  }

  isWaitedFor(post: Post): boolean {
    return post.id !== undefined && this.#unanswered.get(post.id) === post;
  }

  /** Marks a request as answered; returns whether it was pending. */
  settle(id: Id): boolean {
    const post = this.#unanswered.get(id);
    if (post === undefined) return false;
    this.#unanswered.delete(id);
    if (this.#open.has(post)) post.breakOffAfter(this.#clock, lingerMs);
    return true;
  }

  /** Aborts the request with this id, because it was given up. */
  breakOff(id: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    const post = this.#unanswered.get(id);
    if (post === undefined) return;
    this.#unanswered.delete(id);
    this.end(post);
    post.breakOff();
  }

  breakOffAll(): void {
    for (const post of [...this.#open]) {
      this.end(post);
      post.breakOff();
    }
    this.#unanswered.clear();
  }
}

/** Returns the id of the request that this message cancels, if it is a cancellation. */
export function cancelledBy(message: JSONRPCMessage): unknown {
  if (!('method' in message) || message.method !== methods.cancelled.name) return undefined;
  return message.params?.['requestId'];
}

/** Returns the id of the request that this message answers, if it is a response. */
export function answeredBy(message: JSONRPCMessage): Id | undefined {
  return 'method' in message ? undefined : message.id;
}
