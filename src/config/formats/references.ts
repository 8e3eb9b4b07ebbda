/**
 * Converts other programs' references to our syntax: `${VAR}`, `${VAR:-default}`,
 * `${input:id}`. A reference without a counterpart stays and is reported.
 */

/** A program's reference syntax, besides ours. */
export type ReferenceStyle =
  /** `${env:VAR}` and names of the editor such as `${workspaceFolder}`. */
  | 'editor'
  /** The same, and `$VAR`. */
  | 'gemini'
  /** `{env:VAR}`, `{file:path}`. */
  | 'opencode'
  /** `${env.VAR}`. */
  | 'dockerAgent'
  /** None: every text is literal. */
  | 'literal';

export interface ConvertedText {
  readonly text: string;
  /** One message for each reference without a counterpart, without values. */
  readonly remarks: readonly string[];
}

/** Whether `.` means the project folder for this text. */
export type FolderMeaning = 'isProject' | 'isOther';

const variable = '[A-Za-z_]\\w*';
const ours = new RegExp(String.raw`\$\{(?:${variable}(?::-[^}]*)?|input:[^}]+)\}`, 'u');
const anyEditorWord = /\$\{([^}]*)\}/gu;
const editorWords = new Map(Object.entries({ userHome: '${HOME}', pathSeparator: '/', '/': '/' }));
const projectWords: ReadonlySet<string> = new Set(['workspaceFolder', 'workspaceRoot', 'cwd']);

export function convertText(
  text: string,
  style: ReferenceStyle,
  folder: FolderMeaning,
): ConvertedText {
  switch (style) {
    case 'editor':
      return editorText(text, folder);
    case 'gemini': {
      const plain = text.replaceAll(new RegExp(String.raw`\$(${variable})`, 'gu'), '${$1}');
      return editorText(plain, folder);
    }
    case 'opencode':
    case 'dockerAgent': {
      const { reference, foreign, remark } = agentStyles[style];
      const converted = text.replaceAll(reference, '${$1}');
      return { text: converted, remarks: foreign.test(converted) ? [remark] : [] };
    }
    case 'literal':
      return { text, remarks: [] };
  }
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

function editorText(text: string, folder: FolderMeaning): ConvertedText {
  const remarks: string[] = [];
  const converted = text.replaceAll(anyEditorWord, (whole, inner: string) => {
    const known = editorWords.get(inner);
    if (known !== undefined) return known;
    const name = new RegExp(`^env:(${variable})$`, 'u').exec(inner)?.[1];
    if (name !== undefined) return `\${${name}}`;
    if (projectWords.has(inner)) {
      if (folder === 'isProject') return '.';
      remarks.push(`"\${${inner}}" has no counterpart here; write the path of the folder`);
      return whole;
    }
    if (ours.test(whole)) {
      if (/^(?:workspace|file|relativeFile|selected|exec)[A-Z]\w*$/u.test(inner))
        remarks.push(`"\${${inner}}" is a variable of the editor; write its value`);
      return whole;
    }
    const kind = /^\w+(?=:)/u.exec(inner)?.[0];
    if (kind !== undefined && kind !== 'input')
      remarks.push(
        `"\${${kind}:…}" has no counterpart here; put the value into a variable and write \${NAME}`,
      );
    return whole;
  });
  return { text: converted, remarks };
}
