/**
 * Questions that servers ask back, and what may be answered: a form to fill in, an address
 * to visit, a message to have written by a model. One that waits for its answer is parked: it
 * has a time limit, is settled exactly once, and is declined when nobody is there to answer.
 */

export const questionKinds = ['form', 'url', 'sampling'] as const;
export type QuestionKind = (typeof questionKinds)[number];

/** The value of one field of a form. */
export type FormValue = string | number | boolean | readonly string[];

interface FieldWords {
  /** At most 128 characters, printable. */
  readonly title?: string;
  /** At most 2,048 characters, printable. */
  readonly description?: string;
}

/** One value that may be chosen. */
export interface FormChoice {
  readonly value: string;
  /** What a person is shown. */
  readonly title: string;
}

export interface TextField extends FieldWords {
  readonly type: 'string';
  readonly format?: 'email' | 'uri' | 'date' | 'date-time';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly default?: string;
}

export interface NumberField extends FieldWords {
  readonly type: 'number' | 'integer';
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

export interface TruthField extends FieldWords {
  readonly type: 'boolean';
  readonly default?: boolean;
}

export interface ChoiceField extends FieldWords {
  readonly type: 'choice';
  readonly choices: readonly FormChoice[];
  readonly default?: string;
}

export interface ChoicesField extends FieldWords {
  readonly type: 'choices';
  readonly choices: readonly FormChoice[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: readonly string[];
}

/** A field of a form. The restricted schema of MCP knows no others. */
export type FormField = TextField | NumberField | TruthField | ChoiceField | ChoicesField;

export interface NamedField {
  readonly name: string;
  readonly isRequired: boolean;
  readonly field: FormField;
}

/** What a server asks a model. Texts are printable; the rest is as the server sent it. */
export interface SamplingRequest {
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly modelPreferences?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What a model wrote. */
export interface SamplingResult {
  readonly model: string;
  readonly role: 'user' | 'assistant';
  /** A block of content: `{ type: 'text', text }`, or an image or audio. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly stopReason?: string;
}

/** A question as its session read it: checked, bounded and printable. */
export type QuestionBody =
  | {
      readonly kind: 'form';
      /** At most 4,096 characters. */
      readonly message: string;
      readonly fields: readonly NamedField[];
      /** The same as a JSON schema of the form that MCP allows, to be passed on. */
      readonly schema: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: 'url';
      readonly message: string;
      /** Whole, and `http:` or `https:`. It is for a person to open; nothing here ever does. */
      readonly url: string;
      readonly elicitationId?: string;
    }
  | { readonly kind: 'sampling'; readonly message: string; readonly sampling: SamplingRequest };

/** A question that waits for its answer. */
export type Question = QuestionBody & {
  /** `q1`, `q2` and so on: no two questions of one troupe share one. */
  readonly id: string;
  readonly server: string;
  /** The server's own name of the tool whose call it belongs to; only when that is certain. */
  readonly tool?: string;
  /** What the host called that call, {@link QuestionParty.requestId}. */
  readonly requestId?: string;
  /** ISO 8601, as is `deadlineAt`, after which it is cancelled. */
  readonly askedAt: string;
  readonly deadlineAt: string;
};

/**
 * What becomes of a question. `accept` has the content of the form, nothing for an address that
 * was visited, or what the model wrote. `decline`: a person said no. `cancel`: nobody said anything.
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
 * Answers a question, now or later. Undefined = not from here: the question stays parked until it is
 * answered by its id, or its time is over. The signal says that the answer is not wanted any more.
 */
export type QuestionHandler = (
  question: Question,
  context: { readonly signal: AbortSignal },
) => QuestionAnswer | undefined | Promise<QuestionAnswer | undefined>;

/** Who made the call that a question belongs to, as far as questions matter. */
export interface QuestionParty {
  readonly tool?: string;
  readonly requestId?: string;
  readonly onQuestion?: QuestionHandler;
}

/**
 * One round of a request, for a caller that passes on what a server asks first instead of answering it
 * (2026-07-28): the result may then be `{ resultType: 'input_required', inputRequests, requestState }`,
 * and the next round is another call. Servers of before ask as they always do.
 */
export interface InputRound {
  /** What was answered to the round before, by the keys of its questions. */
  readonly inputResponses?: Readonly<Record<string, unknown>>;
  /** As the server gave it in the round before. */
  readonly requestState?: string;
  /** What the one who is asked can do, told to the server in place of what we can. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** How a question ended: as it was answered, by its time limit, or because nobody waits any more. */
export type QuestionEnd = QuestionAnswer['action'] | 'timedOut' | 'withdrawn';

/** A folder that servers are told the work is about. */
export interface RootFolder {
  /** A `file:` address. */
  readonly uri: string;
  readonly name?: string;
}
