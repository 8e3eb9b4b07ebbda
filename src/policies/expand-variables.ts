/**
 * Replaces `${VAR}` and `${VAR:-default}` in a value of the settings. Anything
 * else with a dollar sign stays as it is: there is no shell and no nesting.
 */

export type Variables = Readonly<Record<string, string | undefined>>;

export type Expansion =
  /** `used` are the values that came from variables, defaults not included. */
  { readonly value: string; readonly used: readonly string[] } | { readonly missing: string };

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/gu;

/** As in a shell, the default also replaces a variable that is set but empty. */
export function expandVariables(text: string, variables: Variables): Expansion {
  const used: string[] = [];
  let missing: string | undefined;
  const value = text.replace(reference, (_whole, name: string, fallback: string | undefined) => {
    const found = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (found !== undefined && (found !== '' || fallback === undefined)) {
      used.push(found);
      return found;
    }
    if (fallback === undefined) missing ??= name;
    return fallback ?? '';
  });
  return missing === undefined ? { value, used } : { missing };
}
