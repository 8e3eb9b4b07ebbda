import { realpathSync } from 'node:fs';
import path from 'node:path';

/** The one path of a folder, however it is spelled; of one that is not there, the path as it is written. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}
