/**
 * Finds and replaces the references in a value of the settings: `${VAR}`,
 * `${VAR:-default}`, `${input:id}` and `${keychain:service/account}`. Anything
 * else with a dollar sign is unchanged: there is no shell and no nesting, and the
 * value of a reference is text, never another reference.
 */

export type Variables = Readonly<Record<string, string | undefined>>;

export type Reference =
  | { readonly kind: 'variable'; readonly name: string; readonly fallback?: string }
  | { readonly kind: 'input'; readonly id: string }
  | { readonly kind: 'keychain'; readonly service: string; readonly account: string }
  | { readonly kind: 'broken'; readonly why: BrokenReference };

/** A reference within the default of another; an input or an entry of the keychain without its name. */
export type BrokenReference = 'nested' | 'input' | 'keychain';

/** Values of inputs and the keychain, by {@link referenceKey}. */
export type FoundValues = ReadonlyMap<string, FoundValue>;

export interface FoundValue {
  readonly value: string;
  readonly isSecret: boolean;
}

export interface ExpansionRules {
  readonly found?: FoundValues;
  /** A reference to a variable that is missing stays as it is written. Default: it is an error. */
  readonly keepMissing?: boolean;
  /** The text has no references. Default: false. */
  readonly literal?: boolean | undefined;
}

export type Expansion =
  | {
      readonly value: string;
      /** Values that must not be shown: of variables and secret inputs; defaults are none. */
      readonly used: readonly string[];
      /** Variables that are missing and whose references were kept. */
      readonly kept?: readonly string[];
    }
  /** The first variable that is not set, or `referenceKey` of what was not found. */
  | { readonly missing: string }
  | { readonly broken: BrokenReference };

// The first branch also takes `${input:-x}`: a variable of that name, with a default.
const pattern = /\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?|(input|keychain):([^}]*))\}/gu;

/** Pattern of an input's id. VS Code allows any; characters beyond these are mistakes in quoting. */
export const inputIdPattern = /^[\w.:-](?:[\w .:-]{0,98}[\w.:-])?$/u;
// A service has no slash, so that it is plain where the account begins.
const keychainEntry = /^([^/]{1,256})\/(.{1,256})$/u;

/** Lists the references in a string, in order. */
export function referencesIn(text: string): readonly Reference[] {
  return [...text.slice(0, endOfReferences(text)).matchAll(pattern)].map(referenceOf);
}

/** No reference ends after the last brace; searching there from each `${` would take quadratic time. */
function endOfReferences(text: string): number {
  return text.lastIndexOf('}') + 1;
}

function referenceOf(match: readonly (string | undefined)[]): Reference {
  const [, name, fallback, kind, rest = ''] = match;
  if (name !== undefined) {
    if (fallback?.includes('${') === true) return { kind: 'broken', why: 'nested' };
    return { kind: 'variable', name, ...(fallback === undefined ? {} : { fallback }) };
  }
  if (kind === 'input')
    return inputIdPattern.test(rest) ? { kind, id: rest } : { kind: 'broken', why: 'input' };
  const [, service, account] = keychainEntry.exec(rest) ?? [];
  return service === undefined || account === undefined
    ? { kind: 'broken', why: 'keychain' }
    : { kind: 'keychain', service, account };
}

/** The key of a reference's value, so that each is resolved once. */
export function referenceKey(
  reference: Extract<Reference, { kind: 'input' | 'keychain' }>,
): string {
  return reference.kind === 'input'
    ? `input:${reference.id}`
    : `keychain:${reference.service}/${reference.account}`;
}

/** As in a shell, the default also replaces a variable that is set but empty. */
export function expandVariables(
  text: string,
  variables: Variables,
  { found = noValues, keepMissing = false, literal = false }: ExpansionRules = {},
): Expansion {
  if (literal) return { value: text, used: [] };
  const used: string[] = [];
  const kept: string[] = [];
  let fault: Exclude<Expansion, { value: string }> | undefined;
  const valueOf = (reference: Reference): string | undefined => {
    if (reference.kind === 'broken') {
      fault ??= { broken: reference.why };
      return undefined;
    }
    const one =
      reference.kind === 'variable'
        ? variableOf(reference, variables)
        : found.get(referenceKey(reference));
    if (one?.isSecret === true) used.push(one.value);
    if (one === undefined && reference.kind === 'variable' && keepMissing)
      kept.push(reference.name);
    else if (one === undefined)
      fault ??= {
        missing: reference.kind === 'variable' ? reference.name : referenceKey(reference),
      };
    return one?.value;
  };
  const end = endOfReferences(text);
  const head = text
    .slice(0, end)
    .replace(
      pattern,
      (whole: string, ...parts: string[]) => valueOf(referenceOf([whole, ...parts])) ?? whole,
    );
  const value = `${head}${text.slice(end)}`;
  return fault ?? { value, used, ...(kept.length === 0 ? {} : { kept }) };
}

function variableOf(
  { name, fallback }: Extract<Reference, { kind: 'variable' }>,
  variables: Variables,
): FoundValue | undefined {
  const known = Object.hasOwn(variables, name) ? variables[name] : undefined;
  if (known !== undefined && (known !== '' || fallback === undefined))
    return { value: known, isSecret: true };
  return fallback === undefined ? undefined : { value: fallback, isSecret: false };
}

const noValues: FoundValues = new Map();
