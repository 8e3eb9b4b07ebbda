/** Reads doc comments from the source, so that the tables say what the code says. */

import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** Finds the first paragraph of a member's doc comment; throws when it has none. */
export type DocOf = (container: string, member: string) => string;

/**
 * Reads the doc comments of one file, by the name of an interface, type or constant and by that of
 * its member: a property, a method, a `type` of a union of events, or a string.
 *
 * @param path - below the root of the repository
 */
export function docCommentsIn(path: string): DocOf {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const found = new Map<string, string>();
  const visit = (container: string, node: ts.Node, start = node.pos): void => {
    const name = nameOf(node);
    const comment = name === undefined ? undefined : commentAt(text, start);
    if (comment !== undefined) found.set(`${container}.${name}`, comment);
    let end = node.pos;
    ts.forEachChild(node, (child) => {
      // The comment of a union's member precedes its bar.
      visit(container, child, ts.isUnionTypeNode(node) ? end : child.pos);
      end = child.end;
    });
  };
  for (const statement of file.statements) {
    const declared = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0]
      : statement;
    const name = declared === undefined ? undefined : nameOf(declared);
    if (declared !== undefined && name !== undefined)
      ts.forEachChild(declared, (child) => visit(name, child));
  }
  return (container, member) => {
    const comment = found.get(`${container}.${member}`);
    if (comment === undefined) throw new Error(`${path}: ${container}.${member} has no comment`);
    return comment;
  };
}

function nameOf(node: ts.Node): string | undefined {
  // One event of a union is known by its `type`.
  if (ts.isTypeLiteralNode(node)) {
    const type = node.members.find((member) => nameOf(member) === 'type');
    return type !== undefined && ts.isPropertySignature(type) && type.type !== undefined
      ? nameOf(type.type)
      : undefined;
  }
  if (ts.isLiteralTypeNode(node)) return nameOf(node.literal);
  if (ts.isStringLiteral(node) || ts.isIdentifier(node)) return node.text;
  const { name } = node as ts.NamedDeclaration;
  return name === undefined ? undefined : nameOf(name);
}

function commentAt(text: string, start: number): string | undefined {
  const range = ts.getLeadingCommentRanges(text, start)?.at(-1);
  const comment = range === undefined ? '' : text.slice(range.pos, range.end);
  if (!comment.startsWith('/**')) return undefined;
  const [paragraph = ''] = comment
    .slice(3, -2)
    .replaceAll(/^[ \t]*\* ?/gm, '')
    .split(/\n\s*\n|^@/m);
  return paragraph.trim().replaceAll(/\s+/g, ' ');
}
