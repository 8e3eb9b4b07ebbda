/**
 * Converts other programs' references to our syntax: `${VAR}`, `${VAR:-default}`,
 * `${input:id}`. A reference without a counterpart stays and is reported.
 */

/** A program's reference syntax, besides ours. */
export type ReferenceStyle =
  /** `${env:VAR}`, `$env:VAR`, `${{ secrets.VAR }}` and names of the editor such as `${workspaceFolder}`. */
  | 'editor'
  /** The same, and `$VAR`. */
  | 'gemini'
  /** `$VAR`, and the output of a command as `$(…)`. */
  | 'crush'
  /** `{env:VAR}`, `{file:path}`. */
  | 'opencode'
  /** `${env.VAR}`, and `$VAR`. */
  | 'dockerAgent'
  /** None: every string is literal. */
  | 'literal'
  /** The same, for an entry that also names variables to pass on. */
  | 'escaped';

export interface ConvertedText {
  readonly text: string;
  /** One message for each reference without a counterpart, without values. */
  readonly remarks: readonly string[];
}

const variable = '[A-Za-z_]\\w*';
const ours = new RegExp(String.raw`\$\{(?:${variable}(?::-[^}]*)?|input:[^}]+)\}`, 'u');
const anyEditorWord = /\$\{([^}]*)\}/gu;
const shellVariable = new RegExp(String.raw`\$(${variable})`, 'gu');
// Continue's secrets and inputs; a full name begins with the block that declares it.
const continueSecret = /\$\{\{\s*(?:secrets|inputs)\.(?:[\w.-]+\/)*([A-Za-z_]\w*)\s*\}\}/gu;
// LibreChat fills it in for each user.
const perUser = /\{\{\s*([A-Z][A-Z0-9_]*)\s*\}\}/u;
const echoed = /\$\(echo\s+(?:"([^"()`;|&<>]*)"|([^"()`;|&<>]*))\)/gu;
const editorWords = new Map(Object.entries({ userHome: '${HOME}', pathSeparator: '/', '/': '/' }));
const projectWords: ReadonlySet<string> = new Set(['workspaceFolder', 'workspaceRoot', 'cwd']);

/** What a string is for: a word of a command, another part of a local server, or a part of a remote one. */
export type TextUse = 'word' | 'local' | 'remote';

export function convertText(text: string, style: ReferenceStyle, use: TextUse): ConvertedText {
  switch (style) {
    case 'editor':
      return editorText(text, use);
    case 'gemini':
      return editorText(withBraces(text), use);
    case 'crush': {
      const plain = text.replaceAll(echoed, (_whole, quoted?: string, bare?: string) =>
        (quoted ?? bare ?? '').trim(),
      );
      const named = withBraces(plain).replaceAll(/\$\{([A-Za-z_]\w*):\?[^}]*\}/gu, '${$1}');
      return { text: named, remarks: /\$\(|`/u.test(named) ? [commandRemark] : [] };
    }
    case 'opencode':
    case 'dockerAgent': {
      const { reference, foreign, remark } = agentStyles[style];
      const named = text.replaceAll(reference, '${$1}');
      // In the words of a command, docker-agent keeps `$VAR`.
      const converted = style === 'dockerAgent' && use !== 'word' ? withBraces(named) : named;
      return { text: converted, remarks: foreign.test(converted) ? [remark] : [] };
    }
    case 'literal':
      return { text, remarks: [] };
    case 'escaped':
      return { text: escaped(text), remarks: [] };
  }
}

const commandRemark =
  'a command gives this value; write { "command": ["program", "argument"] } in its place, or put the value into a variable and write ${NAME}';

/** Writes `$VAR` as `${VAR}`. */
function withBraces(text: string): string {
  return text.replaceAll(shellVariable, '${$1}');
}

/** Writes what would be a reference as text: `$` is the default of a variable that is not set. */
function escaped(text: string): string {
  const plain = text.replaceAll('${', '${DOLLAR:-$}{');
  return plain.startsWith('!') ? `\${BANG:-!}${plain.slice(1)}` : plain;
}

const agentStyles = {
  opencode: {
    reference: new RegExp(String.raw`\{env:(${variable})\}`, 'gu'),
    foreign: /\{file:[^}]*\}/u,
    remark: '"{file:…}" has no counterpart here; put the value into a variable and write ${NAME}',
  },
  dockerAgent: {
    reference: new RegExp(String.raw`\$\{env\.(${variable})\}`, 'gu'),
    foreign: /\$\{(?:env|headers)\b[^}]*\}/u,
    remark:
      'this reference has no counterpart here; put the value into a variable and write ${NAME}',
  },
} as const;

function editorText(text: string, use: TextUse): ConvertedText {
  const remarks: string[] = [];
  const plain = text
    .replaceAll(continueSecret, '${$1}')
    .replaceAll(/\$env:([A-Za-z_]\w*)/gu, '${$1}');
  if (perUser.test(plain))
    remarks.push(
      `"${perUser.exec(plain)?.[0]}" is filled in by that program for each user; write a value or \${NAME}`,
    );
  const converted = plain.replaceAll(anyEditorWord, (whole, inner: string) => {
    const known = editorWords.get(inner);
    if (known !== undefined) return known;
    const name = new RegExp(`^env:(${variable})$`, 'u').exec(inner)?.[1];
    if (name !== undefined) return `\${${name}}`;
    if (projectWords.has(inner)) {
      if (use !== 'remote') return '${workspaceFolder}';
      remarks.push(
        `"\${${inner}}" has no counterpart in a remote server; write the path of the folder`,
      );
      return whole;
    }
    if (ours.test(whole)) {
      if (/^(?:workspace|file|relativeFile|selected|exec)[A-Z]\w*$/u.test(inner))
        remarks.push(`"\${${inner}}" is a variable of the editor; write its value`);
      return whole;
    }
    const kind = /^\w+(?=:)/u.exec(inner)?.[0];
    if (kind !== undefined && kind !== 'input' && kind !== 'keychain')
      remarks.push(
        `"\${${kind}:…}" has no counterpart here; put the value into a variable and write \${NAME}`,
      );
    return whole;
  });
  return { text: converted, remarks };
}
