/**
 * Schemas of the control socket's requests. Kept out of `protocol.ts` because only the server needs them,
 * and every other command would have to wait for Zod to load.
 */

import { z } from 'zod';
import { longestTimerMs } from '../../domain/clock.ts';
import { permissionAnswers } from '../../domain/permission.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { longestName, maxLogLines } from './protocol.ts';

const name = z.string().min(1).max(longestName);
const milliseconds = z.int().min(1).max(longestTimerMs);
// Longer than any that a browser or a server accepts.
const longestAddress = 16_384;
const nothing = z.object({});
const timed = { server: name, timeoutMs: milliseconds.optional() };
const settle = z.object(timed);
const offers = z.object({ ...timed, server: name.optional() });
const decision = z.object({ server: name, fingerprint: z.string().max(longestName).optional() });

/** The arguments of every command. */
export const controlArgs = {
  identify: nothing,
  status: z.object({ server: name.optional() }),
  usage: z.object({ server: name.optional() }),
  explain: z.object({ server: name }),
  logs: z.object({ server: name, lines: z.int().min(1).max(maxLogLines).optional() }),
  tools: offers,
  resources: offers,
  prompts: offers,
  readResource: z.object({ ...timed, uri: z.string().min(1).max(longestAddress) }),
  getPrompt: z.object({
    ...timed,
    prompt: name,
    arguments: z.record(z.string(), z.string()).optional(),
  }),
  call: z.object({
    ...timed,
    tool: name,
    arguments: z.record(z.string(), z.unknown()).optional(),
    /** The user's answer at the terminal, after a first call failed without permission. */
    permission: z.enum(permissionAnswers).optional(),
    requestId: name.optional(),
  }),
  questions: nothing,
  answer: z.object({
    id: name,
    action: z.enum(['accept', 'decline', 'cancel']),
    content: z
      .record(
        z.string(),
        z.union([z.string(), z.number(), z.boolean(), z.array(z.string()).readonly()]),
      )
      .optional(),
  }),
  permissions: nothing,
  forgetPermissions: z.object({ server: name.optional(), tool: name.optional() }),
  plan: nothing,
  approvals: nothing,
  approve: decision,
  reject: decision,
  revoke: decision,
  start: settle,
  stop: settle,
  restart: settle,
  refresh: settle,
  login: settle.extend({ device: z.boolean().optional() }),
  /** The URL to which the browser was redirected. */
  finishLogin: z.object({ server: name, url: z.string().min(1).max(longestAddress) }),
  logout: z.union([
    z.object({ server: name }),
    z.object({ resource: z.string().min(1).max(longestAddress), account: name.optional() }),
  ]),
  accounts: nothing,
  reload: nothing,
  /** Begins a session of MCP with the troupe's servers, with the settings and the environment of the caller. */
  attach: z.object({
    name,
    config: z.array(z.string()),
    bare: z.boolean(),
    allow: z.array(name).nullable(),
    trusted: z.boolean().optional(),
    roots: z.array(z.string()).optional(),
    only: name.optional(),
    userSettings: z.string().optional(),
    view: name.optional(),
    env: z.record(z.string(), z.string()),
  }),
  /** Has the further requests of the connection run with the settings and the environment of the caller. */
  join: z.object({ userSettings: z.string(), env: z.record(z.string(), z.string()) }),
  retire: nothing,
  /** `open`: also write a file that redirects a browser to the link. */
  inspect: z.object({ open: z.boolean().optional() }),
  events: z.object({ types: z.array(name).max(20).optional() }),
} as const;

export type ControlCommand = keyof typeof controlArgs;
/** The commands about the process of a troupe, rather than about its servers. */
export type ProcessCommand = 'attach' | 'join' | 'retire';
export type ControlArgs = { [Command in ControlCommand]: z.infer<(typeof controlArgs)[Command]> };

export const controlRequest = z.object({
  id: z.union([z.string().max(100), z.number()]),
  command: z.string().max(100),
  args: z.unknown().optional(),
});

/**
 * Validates a command, from the socket or from the inspector page.
 * @throws TroupeError `INVALID_ARGUMENTS` with the fix
 */
export function checkedCommand(
  command: string,
  args: unknown,
): { readonly command: ControlCommand; readonly args: unknown } {
  if (!isCommand(command)) {
    const known = Object.keys(controlArgs).join(', ');
    throw argumentsError(`unknown command; use one of ${known}`);
  }
  const checked = controlArgs[command].safeParse(args ?? {});
  if (checked.success) return { command, args: checked.data };
  const issue = checked.error.issues[0];
  throw argumentsError(
    `args.${issue?.path.join('.') ?? ''} of ${command}: ${issue?.message ?? 'invalid'}; fix it and try again`,
  );
}

function isCommand(command: string): command is ControlCommand {
  return Object.hasOwn(controlArgs, command);
}
