import type { ListedTool } from '../../domain/tool.ts';
import { isCutAt } from './expose-tools.ts';

/** Whether a tool can be called only as a task, which this version does not support. */
export function needsTask({ execution }: Pick<ListedTool, 'execution'>): boolean {
  return execution?.['taskSupport'] === 'required';
}

// The first few names show what is meant.
const namedTools = 5;

/** Describes which of a server's tools are withheld, or shown with cut descriptions. */
export function toolNotes(
  tools: readonly ListedTool[],
  descriptionMaxLength: number,
): readonly string[] {
  const withheld = tools.filter(needsTask);
  const cut = tools.filter((tool) => !needsTask(tool) && isCutAt(descriptionMaxLength, tool));
  return [
    ...(withheld.length === 0
      ? []
      : [`withheld until calls as tasks are supported, which they require: ${namesOf(withheld)}`]),
    ...(cut.length === 0
      ? []
      : [
          `the descriptions of ${cut.length} of its tools are cut (${namesOf(cut)}); see catalog.descriptionMaxLength of its policy`,
        ]),
  ];
}

function namesOf(tools: readonly ListedTool[]): string {
  const names = tools.slice(0, namedTools).map(({ name }) => name);
  const more = tools.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
