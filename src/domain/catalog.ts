/** Resources, prompts and instructions, as announced and as shown to callers. */

import type { ListedExtras, ListedTool } from './tool.ts';

/** A resource as its server announced it. */
export interface ListedResource extends ListedExtras {
  /** The address to read it from. */
  readonly uri: string;
  /** The server's own name for it. */
  readonly name: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What it contains, for users and models. */
  readonly description?: string;
  /** Media type of the content, for example `text/markdown`. */
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
  /** The server's own name for it. */
  readonly name: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What its resources contain, for users and models. */
  readonly description?: string;
  /** Media type that all its resources share. */
  readonly mimeType?: string;
  /** Who they are meant for, and how important they are. */
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** An argument of a prompt. Its value is always text. Default for `required`: false. */
export interface PromptArgument extends Pick<ListedExtras, 'extra'> {
  /** The key under which `getPrompt` takes its value. */
  readonly name: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What it means, for users and models. */
  readonly description?: string;
  /** Whether the prompt needs a value. Default: false. */
  readonly required?: boolean;
}

/** A prompt as its server announced it. */
export interface ListedPrompt extends ListedExtras {
  /** The name to get it by. */
  readonly name: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What it is for, for users and models. */
  readonly description?: string;
  /** Its arguments, in the order for a form. Default: none. */
  readonly arguments?: readonly PromptArgument[];
}

/** The lists other than tools. */
export interface SideLists {
  /** What can be read. */
  readonly resources: readonly ListedResource[];
  /** Patterns for addresses of more resources. */
  readonly resourceTemplates: readonly ListedResourceTemplate[];
  /** Messages that a user can ask for. */
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

/** Whose item it is, and how current. */
export interface ExposedItem {
  /** The name of the server that offers it. */
  readonly server: string;
  /** `live` if the server is connected; otherwise the state of the last known list. */
  readonly catalog: 'live' | 'deferred' | 'stale';
}

/** A resource and the server to read it from. */
export interface ExposedResource extends ListedResource, ExposedItem {}

/** A template and the server to read its resources from. */
export interface ExposedResourceTemplate extends ListedResourceTemplate, ExposedItem {}

/** A prompt and the server to get it from. */
export interface ExposedPrompt extends ListedPrompt, ExposedItem {}

/** One server's own instructions for its use. */
export interface ExposedInstructions extends ExposedItem {
  /** The server's text for a model, as it sent it. */
  readonly text: string;
}

/** The result of a read; its parts are validated only as far as callers rely on them. */
export interface ResourceResult {
  /** Parts with `uri` and either `text` or `blob` (base64), as the protocol defines them. */
  readonly contents: readonly Readonly<Record<string, unknown>>[];
  /** The server's metadata, unchanged. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A prompt with its arguments filled in. */
export interface PromptResult {
  /** What the prompt is for. */
  readonly description?: string;
  /** Messages with `role` and `content`, as the protocol defines them. */
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  /** The server's metadata, unchanged. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A completion request in the protocol's form. */
export interface CompletionRequest {
  /** The prompt, or the URI template of a resource, whose argument is completed. */
  readonly ref:
    | { readonly type: 'ref/prompt'; readonly name: string }
    | { readonly type: 'ref/resource'; readonly uri: string };
  /** The argument, and what the user has typed of its value. */
  readonly argument: { readonly name: string; readonly value: string };
  /** Arguments that are already known. */
  readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
}

/** A server's completions of an argument: at most 100 values, as the protocol defines them. */
export interface CompletionResult {
  /** The suggestions. `total` counts all that the server has; `hasMore`: there are more than these. */
  readonly completion: {
    /** Suggested values; the protocol allows a hundred. */
    readonly values: readonly string[];
    readonly total?: number;
    readonly hasMore?: boolean;
  };
  /** The server's metadata, unchanged. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export const emptyCatalog: Catalog = {
  tools: [],
  resources: [],
  resourceTemplates: [],
  prompts: [],
  completions: false,
};
