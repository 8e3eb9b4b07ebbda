/** What comes out of reading another program's settings, and what may help to read them. */

import type { Fault, TreeMember } from '../settings-tree.ts';

export const formatNames = [
  'mcpServers',
  'vscode',
  'codex',
  'opencode',
  'zed',
  'codebuddy',
  'docker-agent',
] as const;

/** Kinds of settings texts, told apart by what stands in them. */
export type FormatName = (typeof formatNames)[number];

/** Settings in our form: every part knows where the text has it. */
export interface Conversion {
  readonly format: FormatName;
  /** Entries as `mcpServers` has them. */
  readonly servers: readonly TreeMember[];
  /** The section `mcp`, when the format has one like it. */
  readonly mcp?: TreeMember;
  /** Definitions of what `${input:id}` asks for. */
  readonly inputs?: TreeMember;
  /** What was not taken over, each with its reason and the next step. */
  readonly faults: readonly Fault[];
}

export interface ConversionContext {
  /** Absolute path; settings that a program keeps for single projects are taken of this one. */
  readonly projectRoot: string;
  /** The program whose file it is, when that is known. */
  readonly program?: string;
}
