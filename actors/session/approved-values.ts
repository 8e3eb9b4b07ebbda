/** Finds values for a session. Their commands run only where what decides about them is as it was approved. */

import type { HeadersReason } from '../../src/domain/host/headers.ts';
import type { RemoteSpec, StdioSpec } from '../../src/domain/server-spec.ts';
import { assertFolderFiles } from '../values/folder-files.ts';
import { noValues, type SpecValues } from '../values/target.ts';
import type { SessionPorts, SessionTarget } from './ports.ts';

/**
 * @param part - what values are needed for: the target's spec, or some of it
 * @throws SettingError if a value is missing, or files of a folder are not as they were approved
 */
export async function findValues(
  part: RemoteSpec | StdioSpec,
  {
    spec,
    folder,
  }: Pick<SessionTarget, 'spec'> & { readonly folder?: SessionTarget['folder'] | undefined },
  { server, reason }: { readonly server: string; readonly reason?: HeadersReason },
  { env, onExecutableMoved, values }: SessionPorts,
): Promise<SpecValues> {
  if (folder !== undefined && part.values?.commands !== undefined)
    await assertFolderFiles(spec, env, folder).catch((error: unknown) => {
      // They may need another approval.
      onExecutableMoved?.();
      throw error;
    });
  return values === undefined ? noValues : values.find(part, server, reason);
}
