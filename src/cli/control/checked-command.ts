/** Validates a command, from the socket or from the inspector page. */

import { TroupeError } from '../../domain/troupe-error.ts';
import { type ControlCommand, controlArgs } from './schemas.ts';

/** @throws TroupeError `INVALID_ARGUMENTS` with the fix */
export function checkedCommand(
  command: string,
  args: unknown,
): { readonly command: ControlCommand; readonly args: unknown } {
  if (!isCommand(command)) {
    const known = Object.keys(controlArgs).join(', ');
    throw invalid(`unknown command; use one of ${known}`);
  }
  const checked = controlArgs[command].safeParse(args ?? {});
  if (checked.success) return { command, args: checked.data };
  const issue = checked.error.issues[0];
  throw invalid(
    `args.${issue?.path.join('.') ?? ''} of ${command}: ${issue?.message ?? 'invalid'}; fix it and try again`,
  );
}

function invalid(message: string): TroupeError {
  return new TroupeError('INVALID_ARGUMENTS', message);
}

function isCommand(command: string): command is ControlCommand {
  return Object.hasOwn(controlArgs, command);
}
