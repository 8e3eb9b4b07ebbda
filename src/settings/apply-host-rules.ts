/** Applies the rules that the host passes in to each server: a rule may leave it out or change it. */

import { z } from 'zod';
import { printableLine } from '../domain/data/printable.ts';
import type { HostRule, RuleAnswer } from '../domain/host/rule.ts';
import type { Bar } from '../domain/settings.ts';
import type { ParsedServer } from './entry/server-entry.ts';

// The maximum length of a line in the status.
const longestReason = 200;

const names = z.array(z.string()).optional();
const answerSchema = z.union([
  z.undefined(),
  z.strictObject({ leaveOut: z.string().min(1) }),
  z.strictObject({
    change: z.strictObject({
      trust: z.boolean().optional(),
      tools: z.strictObject({ include: names, exclude: names }).optional(),
    }),
  }),
]);

/** Applies the rules in order, each to the previous rule's result. */
export function applyHostRules(
  servers: readonly ParsedServer[],
  rules: readonly HostRule[],
): readonly ParsedServer[] {
  return rules.length === 0 ? servers : servers.map((server) => rules.reduce(applyRule, server));
}

function applyRule(server: ParsedServer, rule: HostRule): ParsedServer {
  const { spec, desired } = server;
  if (spec === undefined || desired.bar !== undefined) return server;
  const { name, source, enabled, trust, tools } = desired;
  let answer: RuleAnswer;
  try {
    // Validated, because a promise or a misspelt key would let the server run.
    answer = answerSchema.parse(rule({ name, source, spec, enabled, trust, tools })) as RuleAnswer;
  } catch {
    return barred(server, "fix the host's server rule, which threw or returned an invalid result");
  }
  if (answer === undefined) return server;
  if ('leaveOut' in answer) {
    const why = printableLine(answer.leaveOut, longestReason);
    return barred(server, `use what the host has instead; it leaves this server out: ${why}`);
  }
  const { change } = answer;
  const { include = tools.include, exclude = tools.exclude } = change.tools ?? {};
  return {
    ...server,
    desired: { ...desired, trust: change.trust ?? trust, tools: { ...tools, include, exclude } },
  };
}

function barred(server: ParsedServer, next: string): ParsedServer {
  const bar: Bar = { verdict: 'excluded', rule: 'hostRule', next };
  return { ...server, desired: { ...server.desired, bar } };
}
