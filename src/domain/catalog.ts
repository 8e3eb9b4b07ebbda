/** Resources, prompts and instructions, as announced and as shown to callers. */

import type { ListedExtras, ListedTool } from './tool.ts';

export interface ListedResource extends ListedExtras {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Size in bytes, as far as the server knows. */
  readonly size?: number;
  /** For whom it is, and how important. */
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** Resources that the server announces only by a pattern for their addresses. */
export interface ListedResourceTemplate extends ListedExtras {
  /** URI template as in RFC 6570. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** An argument of a prompt. Its value is always text. Default for `required`: false. */
export interface PromptArgument extends Pick<ListedExtras, 'extra'> {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

export interface ListedPrompt extends ListedExtras {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly PromptArgument[];
}

/** The lists other than tools. */
export interface SideLists {
  readonly resources: readonly ListedResource[];
  readonly resourceTemplates: readonly ListedResourceTemplate[];
  readonly prompts: readonly ListedPrompt[];
}

/** The names of the lists other than tools. */
export const sideLists = [
  'resources',
  'resourceTemplates',
  'prompts',
] as const satisfies readonly (keyof SideLists)[];

/** Everything that one server announced. */
export interface Catalog extends SideLists {
  /** The tools as the server announced them; digests are computed from these. */
  readonly tools: readonly ListedTool[];
  /** The tools without the settings' secrets; absent if they contain none. */
  readonly shownTools?: readonly ListedTool[];
  /** The server's instructions for its use, printable, at most 16 KB. */
  readonly instructions?: string;
  /** Whether the server completes arguments of prompts and templates. */
  readonly completions: boolean;
  /** The lists that the server has not sent yet; absent if it sent them all. */
  readonly unlisted?: readonly (keyof SideLists)[];
}

interface Shown {
  readonly server: string;
  /** `live` if the server is connected; otherwise the state of the last known list. */
  readonly catalog: 'live' | 'deferred' | 'stale';
}

/** A resource and the server to read it from. */
export interface ExposedResource extends ListedResource, Shown {}

/** A template and the server to read its resources from. */
export interface ExposedResourceTemplate extends ListedResourceTemplate, Shown {}

/** A prompt and the server to get it from. */
export interface ExposedPrompt extends ListedPrompt, Shown {}

/** One server's own instructions for its use. */
export interface ExposedInstructions extends Shown {
  /** The server's text for a model, as it sent it. */
  readonly text: string;
}

/** The result of a read; its parts are validated only as far as callers rely on them. */
export interface ResourceResult {
  readonly contents: readonly Readonly<Record<string, unknown>>[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A prompt with its arguments filled in. */
export interface PromptResult {
  readonly description?: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A completion request in the protocol's form. */
export interface CompletionRequest {
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that are already known. */
  readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
}

/** A server's completions of an argument: at most 100 values, as the protocol defines them. */
export interface CompletionResult {
  readonly completion: {
    /** Suggested values; the protocol allows a hundred. */
    readonly values: readonly string[];
    readonly total?: number;
    readonly hasMore?: boolean;
  };
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export const emptyCatalog: Catalog = {
  tools: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  completions: false,
};
