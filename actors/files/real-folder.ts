import { realpathSync } from 'node:fs';
import path from 'node:path';

/** Returns the real path of a folder, or the path as written if there is no such folder. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}
