/**
 * The list `inputs` of a document, in VS Code's format: values that servers need and
 * no file should hold. An invalid item is left out with a problem; a server that
 * refers to it has a problem as well.
 */

import { z } from 'zod';
import { printableLine } from '../domain/data/printable.ts';
import type { InputChoice, InputDefinition } from '../domain/input.ts';
import { inputIdPattern } from '../policies/expand-variables.ts';
import {
  type Fault,
  findFault,
  lineAt,
  schemaFault,
  type TreeMember,
  type TreePath,
  valueOf,
} from './settings-tree.ts';

// More questions than any user answers.
export const maxInputs = 100;
const maxOptions = 1_000;
// A few lines of a terminal.
const maxDescriptionLength = 500;

const listError = `"inputs" must be a list of at most ${maxInputs}; write [{ "id": "token", "type": "promptString", "password": true }]`;
const itemError =
  'an input must be an object; write { "id": "token", "type": "promptString", "password": true }';
const idError =
  '"id" must be 1 to 100 letters, digits, spaces, "_", ".", ":" or "-"; write "token"';
const typeError = '"type" must be "promptString", "pickString" or "command"';
const optionsError = `"options" must be a list of 1 to ${maxOptions} texts; write ["one", "two"]`;

const text = (key: string) => z.string({ error: `"${key}" must be text in quotes` });
const choice = z.union([z.string(), z.strictObject({ label: z.string(), value: z.string() })], {
  error: optionsError,
});

const common = {
  id: z.string({ error: idError }).regex(inputIdPattern, { error: idError }),
  description: text('description').optional(),
  default: text('default').optional(),
};

/** One input of a file. */
export const inputSchema = z.discriminatedUnion(
  'type',
  [
    z.looseObject({
      ...common,
      type: z.literal('promptString'),
      password: z.boolean({ error: '"password" must be true or false, without quotes' }).optional(),
    }),
    z.looseObject({
      ...common,
      type: z.literal('pickString'),
      options: z
        .array(choice, { error: optionsError })
        .min(1, { error: optionsError })
        .max(maxOptions, { error: optionsError }),
    }),
    z.looseObject({
      ...common,
      type: z.literal('command'),
      command: text('command').min(1, { error: '"command" must not be empty' }),
      args: z.unknown().optional(),
    }),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? typeError : itemError) },
);

export function parseInputs({ node, line }: TreeMember): {
  readonly inputs: readonly InputDefinition[];
  readonly faults: readonly Fault[];
} {
  const isList = node.kind === 'array' && node.items.length <= maxInputs;
  const broken = isList
    ? findFault(node, ['inputs'])
    : { line, path: ['inputs'], message: listError };
  if (!isList || broken !== undefined) return { inputs: [], faults: broken ? [broken] : [] };

  const faults: Fault[] = [];
  const inputs = new Map<string, InputDefinition | undefined>();
  for (const [index, item] of node.items.entries()) {
    const faultAt = (path: TreePath, message: string): void => {
      faults.push({ line: lineAt(item, path), path: ['inputs', index, ...path], message });
    };
    const parsed = inputSchema.safeParse(valueOf(item));
    if (!parsed.success) {
      const { path, message } = schemaFault(inputSchema, parsed.error, () => itemError);
      faultAt(path, message);
      continue;
    }
    const { id } = parsed.data;
    if (inputs.has(id)) {
      // Neither is used, because a reviewer may have read the other one.
      faultAt(['id'], 'another input has this id; rename or remove one of the two');
      inputs.set(id, undefined);
      continue;
    }
    inputs.set(id, definitionOf(parsed.data));
  }
  return { inputs: [...inputs.values()].filter((one) => one !== undefined), faults };
}

function definitionOf({
  description,
  default: byDefault,
  ...input
}: z.infer<typeof inputSchema>): InputDefinition {
  const rest = {
    id: input.id,
    ...(description !== undefined && {
      description: printableLine(description, maxDescriptionLength),
    }),
    ...(byDefault !== undefined && { default: byDefault }),
  };
  switch (input.type) {
    case 'promptString':
      return { ...rest, type: input.type, password: input.password ?? false };
    case 'pickString':
      return { ...rest, type: input.type, password: false, options: input.options.map(choiceOf) };
    case 'command': {
      const { type, command, args } = input;
      // A command's output is usually a token.
      return { ...rest, type, password: true, command, ...(args !== undefined && { args }) };
    }
  }
}

function choiceOf(option: string | InputChoice): InputChoice {
  const { label, value } = typeof option === 'string' ? { label: option, value: option } : option;
  return { label: printableLine(label, maxDescriptionLength), value };
}
