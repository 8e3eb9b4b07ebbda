/** Decides whether one call may go out, must be asked for, or may not. The strictest voice counts. */

import {
  type PermissionChoice,
  type PermissionPattern,
  type PermissionRules,
  type PermissionVerdict,
  permissionVerdicts,
} from '../domain/permission.ts';
import { matchesGlob } from './glob.ts';

/** A tool by all its names. */
export interface PermittedTool {
  readonly server: string;
  readonly tool: string;
  /** The exposed name. */
  readonly name: string;
}

/** What one set of rules says of a tool; undefined = nothing. */
export function verdictByRules(
  rules: PermissionRules,
  tool: PermittedTool,
): PermissionVerdict | undefined {
  const fits = (pattern: PermissionPattern): boolean => isAbout(pattern, tool);
  if (rules.deny?.some(fits) === true) return 'deny';
  const isExact = (pattern: PermissionPattern): boolean => fits(pattern) && !isPattern(pattern);
  if (rules.ask?.some(isExact) === true) return 'ask';
  if (rules.allow?.some(isExact) === true) return 'allow';
  if (rules.ask?.some(fits) === true) return 'ask';
  return rules.allow?.some(fits) === true ? 'allow' : undefined;
}

/** The pattern by which rules give a tool this verdict, an exact one first; undefined when none does. */
export function patternBehind(
  rules: PermissionRules,
  tool: PermittedTool,
  verdict: PermissionVerdict,
): PermissionPattern | undefined {
  const fitting = (rules[verdict] ?? []).filter((pattern) => isAbout(pattern, tool));
  return fitting.find((pattern) => !isPattern(pattern)) ?? fitting[0];
}

/** The strictest of what was said; undefined when nobody said anything. */
export function strictestVerdict(
  ...voices: readonly (PermissionVerdict | undefined)[]
): PermissionVerdict | undefined {
  return permissionVerdicts.findLast((verdict) => voices.includes(verdict));
}

/** What is remembered of the tool and its server as they are now. */
export interface ChoiceSubject {
  readonly server: string;
  readonly fingerprint: string;
  readonly tool: string;
  readonly digest: string;
}

/** Says whether a person allowed this and more calls. */
export function isRemembered(
  choices: readonly PermissionChoice[],
  { server, fingerprint, tool, digest }: ChoiceSubject,
): boolean {
  return choices.some(
    (choice) =>
      choice.server === server &&
      choice.fingerprint === fingerprint &&
      (choice.tool === undefined || (choice.tool === tool && choice.digest === digest)),
  );
}

function isAbout(pattern: PermissionPattern, { server, tool, name }: PermittedTool): boolean {
  if (typeof pattern === 'string') return matchesGlob(pattern, name);
  return pattern.server === server && matchesGlob(pattern.tool ?? '*', tool);
}

function isPattern(pattern: PermissionPattern): boolean {
  return (typeof pattern === 'string' ? pattern : (pattern.tool ?? '*')).includes('*');
}
