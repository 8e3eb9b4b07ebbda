import type { ListedTool } from '../../domain/tool.ts';
import { redact } from '../text/redact.ts';
import { redactedData, redactedSchema } from './schema-words.ts';

/** The tools as they may be shown; undefined when none of them tells a secret. */
export function redactedTools(
  tools: readonly ListedTool[],
  secrets: readonly string[],
): readonly ListedTool[] | undefined {
  if (secrets.length === 0) return undefined;
  const shown = tools.map((tool) => redactedTool(tool, secrets));
  return shown.every((tool, at) => tool === tools[at]) ? undefined : shown;
}

function redactedTool(tool: ListedTool, secrets: readonly string[]): ListedTool {
  // Nearly always there is none: one look at the whole is quicker than one at each part.
  const text = JSON.stringify(tool);
  if (redact(text, secrets) === text) return tool;
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    // Who calls it needs it.
    name,
    ...(title === undefined ? {} : { title: redact(title, secrets) }),
    ...(description === undefined ? {} : { description: redact(description, secrets) }),
    inputSchema: redactedSchema(inputSchema, secrets),
    ...(outputSchema === undefined ? {} : { outputSchema: redactedSchema(outputSchema, secrets) }),
    ...(annotations === undefined
      ? {}
      : { annotations: redactedData(annotations, secrets) as typeof annotations }),
  };
}
