import path from 'node:path';

/**
 * Where an administrator puts settings for everybody on this machine. No flag and no
 * variable moves it, because whoever can move it is not bound by it.
 */
export function managedSettingsFile(platform: NodeJS.Platform): string {
  switch (platform) {
    case 'darwin':
      return '/Library/Application Support/mcp-troupe/managed.json';
    case 'win32':
      return path.win32.join('C:\\Program Files', 'mcp-troupe', 'managed.json');
    default:
      return '/etc/mcp-troupe/managed.json';
  }
}
