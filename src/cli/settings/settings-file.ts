/** Reads and replaces settings files in our own form, for commands that edit them. */

import { settingsError } from '../../domain/user-errors.ts';
import { type Change, changeSettings } from '../../settings/edit-settings.ts';
import { convertSettings } from '../../settings/formats/convert-settings.ts';
import {
  type Fault,
  findFault,
  memberOf,
  readTree,
  type TreeNode,
} from '../../settings/settings-tree.ts';
import type { Launch } from '../launch.ts';
import { replaceFile, textToEdit, writablePlace } from './target.ts';

/** A settings file that may be edited. */
export interface OpenSettings {
  /** The path as it is read. */
  readonly file: string;
  /** The real path to write. */
  readonly place: string;
  /** Undefined: it does not exist yet. */
  readonly before: string | undefined;
  readonly root: Extract<TreeNode, { readonly kind: 'object' }>;
}

/** @throws TroupeError `INVALID_CONFIG` when it cannot be read or is not in our form */
export async function openSettings(launch: Launch, file: string): Promise<OpenSettings> {
  const place = await writablePlace(file, launch);
  const before = await textToEdit(place, `cannot edit ${file}`);
  return { file, place, before, root: ownRoot(file, before, launch.projectRoot) };
}

/**
 * Reads a document that is to be edited, which must be JSON in our own form.
 * @throws TroupeError `INVALID_CONFIG`
 */
export function ownRoot(
  file: string,
  text: string | undefined,
  projectRoot: string,
): OpenSettings['root'] {
  if (!/\.jsonc?$/iu.test(file) && text !== undefined && 'fault' in readTree(text))
    return refuse(file, { line: 1, message: 'it is not JSON; edit it by hand' });
  const tree = readTree(text ?? '{}');
  if ('fault' in tree) return refuse(file, tree.fault);
  const { root } = tree;
  const fault = faultOf(root, projectRoot);
  if (fault !== undefined) return refuse(file, fault);
  return root.kind === 'object' ? root : refuse(file, notOurs(root.line));
}

/** Why a document is not in our form. */
function faultOf(root: TreeNode, projectRoot: string): Pick<Fault, 'line' | 'message'> | undefined {
  const broken = root.kind === 'object' ? findFault(root) : undefined;
  if (broken !== undefined) return broken;
  const conversion = convertSettings(root, { projectRoot });
  if (conversion !== undefined && 'fault' in conversion) return conversion.fault;
  const servers = memberOf(root, 'mcpServers');
  const isMap = servers === undefined || servers.node.kind === 'object';
  const isOurs = isMap && (conversion?.format ?? 'mcpServers') === 'mcpServers';
  return isOurs ? undefined : notOurs(servers?.line ?? root.line);
}

function notOurs(line: number): Pick<Fault, 'line' | 'message'> {
  const message = 'it is a settings file of another program; use a troupe settings file instead';
  return { line, message };
}

function refuse(file: string, { line, message }: Pick<Fault, 'line' | 'message'>): never {
  throw settingsError(`nothing is written, because of ${file}:${line}: ${message}`);
}

/** @throws TroupeError `INVALID_CONFIG` when the file cannot be edited without changing something else */
export function editedText({ file, before }: OpenSettings, changes: readonly Change[]): string {
  const text = changeSettings(before ?? '{}\n', changes);
  if (text !== undefined) return text.endsWith('\n') ? text : `${text}\n`;
  throw settingsError(`cannot edit ${file} safely; edit it by hand`);
}

/** @throws TroupeError `INVALID_CONFIG` when the file was edited meanwhile */
export async function replaceSettings(
  { place, before }: OpenSettings,
  text: string,
): Promise<void> {
  if (text !== before) await replaceFile(place, before, text);
}
