/** Light or dark: the system's setting until the user chooses. */

const key = 'troupe-inspector-theme';
const wantsDark = window.matchMedia('(prefers-color-scheme: dark)');

export function restoreTheme(): void {
  const chosen = localStorage.getItem(key);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === undefined ? wantsDark.matches : chosen === 'dark';
}

export function switchTheme(): void {
  const next = isDark() ? 'light' : 'dark';
  document.documentElement.dataset['theme'] = next;
  localStorage.setItem(key, next);
}
