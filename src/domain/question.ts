/**
 * Questions that servers ask during a call, and their answers: a form to fill in, an address to
 * visit, a message for a model to write. An open question has a time limit, is settled exactly
 * once, and is declined when nothing can answer it.
 */

import { isRecord } from './data/is-record.ts';

/** What servers ask for. */
export const questionKinds = ['form', 'url', 'sampling'] as const;
/** What a server asks for: a filled form, a visit to a URL, or a sample from a model. */
export type QuestionKind = (typeof questionKinds)[number];

/** The value of one form field. */
export type FormValue = string | number | boolean | readonly string[];

/** How a form shows a field. */
export interface FieldText {
  /** Printable, at most 128 characters. */
  readonly title?: string;
  /** Printable, at most 2,048 characters. */
  readonly description?: string;
}

/** One value that can be chosen. */
export interface FormChoice {
  /** The value in the answer. */
  readonly value: string;
  /** The label that users see. */
  readonly title: string;
}

/** A line of text, with optional bounds on its length in characters. */
export interface TextField extends FieldText {
  /** Tells the kinds of fields apart. */
  readonly type: 'string';
  /** Format that the answer must have. Default: any text. */
  readonly format?: 'email' | 'uri' | 'date' | 'date-time';
  /** Fewest characters. Default: 0. */
  readonly minLength?: number;
  /** Most characters. Default: no limit. */
  readonly maxLength?: number;
  /** The value to begin with. Default: none. */
  readonly default?: string;
}

/** A number, or with `integer` a whole number, within optional inclusive bounds. */
export interface NumberField extends FieldText {
  /** `integer` for whole numbers only. */
  readonly type: 'number' | 'integer';
  /** Smallest value. Default: no limit. */
  readonly minimum?: number;
  /** Largest value. Default: no limit. */
  readonly maximum?: number;
  /** The value to begin with. Default: none. */
  readonly default?: number;
}

/** A yes-or-no field. */
export interface TruthField extends FieldText {
  /** Tells the kinds of fields apart. */
  readonly type: 'boolean';
  /** The value to begin with. Default: none. */
  readonly default?: boolean;
}

/** One of several choices; the answer is the choice's `value`. */
export interface ChoiceField extends FieldText {
  /** Tells the kinds of fields apart. */
  readonly type: 'choice';
  /** The choices, in the server's order. */
  readonly choices: readonly FormChoice[];
  /** The `value` to begin with. Default: none. */
  readonly default?: string;
}

/** Any of several choices; the answer is a list of their values. */
export interface ChoicesField extends FieldText {
  /** Tells the kinds of fields apart. */
  readonly type: 'choices';
  /** The choices, in the server's order. */
  readonly choices: readonly FormChoice[];
  /** Fewest values. Default: 0. */
  readonly minItems?: number;
  /** Most values. Default: all. */
  readonly maxItems?: number;
  /** The values to begin with. Default: none. */
  readonly default?: readonly string[];
}

/** A form field. MCP's restricted schema has no other kinds. */
export type FormField = TextField | NumberField | TruthField | ChoiceField | ChoicesField;

/** A field of a form, and the key under which the answer gets its value. */
export interface NamedField {
  /** The key of the value in the answer. */
  readonly name: string;
  /** Whether the answer must contain a value. */
  readonly isRequired: boolean;
  /** What the value may be. */
  readonly field: FormField;
}

/** A server's request to a model. Strings are printable; the rest is as the server sent it. */
export interface SamplingRequest {
  /** The conversation, as the protocol defines it. */
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  /** Most tokens to generate. */
  readonly maxTokens: number;
  /** Instructions for the model. Default: none. */
  readonly systemPrompt?: string;
  /** Randomness of the sample, as the model defines it. Default: that of the client. */
  readonly temperature?: number;
  /** Texts at which the model stops. Default: none. */
  readonly stopSequences?: readonly string[];
  /** Which model the server prefers, as the protocol defines it. Default: any. */
  readonly modelPreferences?: Readonly<Record<string, unknown>>;
  /** Parameters for the model's provider. Default: none. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A model's message. */
export interface SamplingResult {
  /** The model that answered. */
  readonly model: string;
  /** Who speaks; a model is the `assistant`. */
  readonly role: 'user' | 'assistant';
  /** A block of content: `{ type: 'text', text }`, or an image or audio. */
  readonly content: Readonly<Record<string, unknown>>;
  /** Why it stopped, such as `endTurn`. Default: none is sent. */
  readonly stopReason?: string;
}

/** A question as its session read it: checked, bounded and printable. */
export type QuestionBody = {
  /** The server's `_meta`, unchecked but bounded, without the keys of the protocol. */
  readonly meta?: Readonly<Record<string, unknown>>;
} & (
  | {
      readonly kind: 'form';
      /** Printable, at most 4,096 characters. */
      readonly message: string;
      readonly fields: readonly NamedField[];
      /** The form as a JSON schema of the kind that MCP allows, to be passed on. */
      readonly schema: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'url';
      readonly message: string;
      /** A complete `http:` or `https:` address, for the user to open; it is never opened automatically. */
      readonly url: string;
      readonly elicitationId?: string;
    }
  | { readonly kind: 'sampling'; readonly message: string; readonly sampling: SamplingRequest }
);

/** An open question. */
export type Question = QuestionBody & {
  /** Unique id within a troupe: `q1`, `q2` and so on. */
  readonly id: string;
  readonly server: string;
  /**
   * The server's own name for the tool whose call it belongs to; present only if that is certain.
   */
  readonly tool?: string;
  /** The host's id of that call, {@link QuestionParty.requestId}. */
  readonly requestId?: string;
  /** ISO 8601, like `deadlineAt`, after which the question is cancelled. */
  readonly askedAt: string;
  readonly deadlineAt: string;
};

/**
 * The answer to a question. `accept` has the form's content, nothing for a visited address, or the
 * model's message. `decline`: the user refused. `cancel`: there was no answer.
 */
export type QuestionAnswer =
  | {
      readonly action: 'accept';
      readonly content?: Readonly<Record<string, FormValue>>;
      readonly sampling?: SamplingResult;
    }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/**
 * Answers a question, now or later. Undefined means that this handler does not answer: the question
 * stays open until it is answered by its id, or its time is over. The signal aborts when the answer
 * is no longer needed.
 */
export type QuestionHandler = (
  question: Question,
  context: { readonly signal: AbortSignal },
) => QuestionAnswer | undefined | Promise<QuestionAnswer | undefined>;

/**
 * A client that makes several calls. A question that certainly belongs to one of them, but perhaps to
 * another one, is passed to its handler. Clients are told apart by identity.
 */
export interface QuestionClient {
  /** Answers questions that may belong to any of its calls. */
  readonly onQuestion: QuestionHandler;
  /**
   * The user whose client it is. Among clients of one user, a call that one of them abandoned takes no
   * question from another once the server has read the cancellation. Without it, an abandoned call
   * does so for ten minutes.
   */
  readonly user?: string;
}

/** Returns whether a modern server's result holds questions, and does not say whether the tool has begun. */
export function asksForInput(result: unknown): boolean {
  return isRecord(result) && result['resultType'] === 'input_required';
}

/** The caller of the call that a question belongs to. */
export interface QuestionParty {
  readonly tool?: string | undefined;
  readonly requestId?: string | undefined;
  readonly onQuestion?: QuestionHandler | undefined;
  readonly client?: QuestionClient | undefined;
}

/**
 * One round of a request, for a caller that passes on what a server asks first instead of answering
 * it (2026-07-28): the result may then be `{ resultType: 'input_required', inputRequests,
 * requestState }`, and the next round is another call. Servers with earlier protocols ask as they
 * always do.
 */
export interface InputRound {
  /** Answers to the previous round, by its questions' keys. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  /** The state that the server returned in the previous round. */
  readonly requestState?: string;
  /** The caller's own capabilities, sent to the server instead of ours. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** How a question ended: by its answer, by its time limit, or because its call is over. */
export type QuestionEnd = QuestionAnswer['action'] | 'timedOut' | 'withdrawn';

/** A folder that the work is about, as sent to servers. */
export interface RootFolder {
  /** A `file:` URL. */
  readonly uri: string;
  /** A label for users. Default: none is sent. */
  readonly name?: string;
}
