/** Reads members and their doc comments from the source, for the generated tables. */

import { readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Member {
  readonly name: string;
  /** The first paragraph of its doc comment. */
  readonly doc: string;
  /** Names of its parameters or fields, with `?` after optional ones. */
  readonly parts: readonly string[];
  readonly isMethod: boolean;
}

/**
 * Lists the members of an interface, a list, an object, or a union of strings or events, which are
 * known by their `type`.
 *
 * @param path - below the root of the repository
 * @throws when a member has no doc comment
 */
export function membersOf(path: string, container: string): readonly Member[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const declared = file.statements
    .map((it) => (ts.isVariableStatement(it) ? it.declarationList.declarations[0] : it))
    .find((it) => it !== undefined && nameOf(it) === container);
  const nodes = declared === undefined ? [] : nodesIn(declared);
  if (nodes.length === 0) throw new Error(`${path} declares no members of ${container}`);
  let end = nodes[0]?.parent.pos ?? 0;
  return nodes.map((node) => {
    const name = nameOf(node) ?? '';
    // The comment of a union's member precedes its bar.
    const doc = commentAt(text, ts.isTypeNode(node) ? end : node.pos);
    if (doc === undefined) throw new Error(`${path}: ${container}.${name} has no comment`);
    end = node.end;
    return { name, doc, parts: partsOf(node), isMethod: ts.isMethodSignature(node) };
  });
}

function nodesIn(node: ts.Node): readonly ts.Node[] {
  if (ts.isInterfaceDeclaration(node)) return node.members;
  if (ts.isTypeAliasDeclaration(node)) return nodesIn(node.type);
  if (ts.isUnionTypeNode(node)) return node.types;
  if (ts.isVariableDeclaration(node)) return node.initializer ? nodesIn(node.initializer) : [];
  if (ts.isAsExpression(node)) return nodesIn(node.expression);
  if (ts.isArrayLiteralExpression(node)) return node.elements;
  return ts.isObjectLiteralExpression(node) ? node.properties : [];
}

/** Finds the comment of one member; throws when it has none. */
export function docOf(path: string, container: string, member: string): string {
  const found = membersOf(path, container).find(({ name }) => name === member);
  if (found === undefined) throw new Error(`${path}: ${container}.${member} has no comment`);
  return found.doc;
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

function partsOf(node: ts.Node): readonly string[] {
  if (ts.isPropertySignature(node)) return node.type === undefined ? [] : partsOf(node.type);
  if (ts.isIntersectionTypeNode(node)) return node.types.flatMap(partsOf);
  if (ts.isTypeReferenceNode(node)) return [`…${nameOf(node.typeName) ?? ''}`];
  if (!ts.isMethodSignature(node) && !ts.isTypeLiteralNode(node)) return [];
  return (ts.isMethodSignature(node) ? [...node.parameters] : [...node.members]).flatMap((it) => {
    const name = nameOf(it);
    return name === undefined || name === 'type' ? [] : [name + (it.questionToken ? '?' : '')];
  });
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
