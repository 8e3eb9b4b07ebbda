/**
 * Builds a server's environment from a few of our own variables, which programs need to find their
 * home, tools and terminal, and the variables in the settings. The lists are the SDK's.
 */

import type { Variables } from '../../src/policies/expand-variables.ts';

const inheritedOnPosix = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];
const inheritedOnWindows = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'PROGRAMW6432',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
];

/**
 * On Windows, `Path` and `PATH` are the same variable; if the settings contain both spellings, the
 * last one counts.
 */
export function environmentOf(
  ours: Variables,
  named: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
): Readonly<Record<string, string>> {
  if (platform !== 'win32') return { ...inheritedFrom(ours, inheritedOnPosix), ...named };
  return {
    ...inheritedFrom(inUpperCase(ours), inheritedOnWindows),
    ...inUpperCase(named),
  };
}

function inUpperCase<Value>(variables: Readonly<Record<string, Value>>): Record<string, Value> {
  const entries = Object.entries(variables);
  return Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), value]));
}

function inheritedFrom(ours: Variables, names: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = ours[name];
    // A value that begins this way is a shell function, as in Shellshock.
    if (value !== undefined && !value.startsWith('()')) kept[name] = value;
  }
  return kept;
}
