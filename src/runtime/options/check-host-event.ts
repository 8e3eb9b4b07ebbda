import { z } from 'zod';
import { type HostEvent, troupeEventNames } from '../../domain/host/event.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { closestName } from '../../policies/text/closest-name.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { checkName } from './check.ts';
import { rootChoices } from './roots.ts';

const shownLength = 128;

const server = z.string().min(1).max(100);
const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional();
const names = z.array(z.string().min(1).max(100)).max(10_000);

const hostEventSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('settings.changed'),
    settings: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal('settings.reload') }),
  z.strictObject({ type: z.literal('server.start'), server }),
  z.strictObject({ type: z.literal('server.stop'), server }),
  z.strictObject({ type: z.literal('server.restart'), server }),
  z.strictObject({ type: z.literal('server.reconnect'), server }),
  z.strictObject({ type: z.literal('approval.grant'), server, fingerprint }),
  z.strictObject({ type: z.literal('approval.reject'), server, fingerprint }),
  z.strictObject({ type: z.literal('approval.revoke'), server, fingerprint }),
  z.strictObject({ type: z.literal('trust.changed'), trusted: z.boolean() }),
  z.strictObject({ type: z.literal('allow.changed'), allowed: names.nullable() }),
  z.strictObject({ type: z.literal('auth.completed'), server }),
  z.strictObject({ type: z.literal('roots.changed'), roots: rootChoices }),
  z.strictObject({ type: z.literal('system.woke') }),
  z.strictObject({ type: z.literal('troupe.stop') }),
  z.strictObject({ type: z.literal('troupe.kill') }),
]);

const hostEventTypes = hostEventSchema.options.map(({ shape }) => shape.type.value);

/**
 * Admits host events only: the charts would also obey one of their own internal events, or one of
 * XState's.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the offending field.
 */
export function checkHostEvent(event: unknown): HostEvent {
  const checked = hostEventSchema.safeParse(event);
  if (checked.success) return checked.data as HostEvent;
  const type = typeOf(event);
  if (type !== undefined && !(hostEventTypes as readonly string[]).includes(type)) {
    throw unknownEvent('event to send to a troupe', type, hostEventTypes);
  }
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    `This event cannot be sent to a troupe${field === '' ? '' : ` (field "${field}")`}: ${issue?.message ?? 'unknown event'}. See the list of host events in the documentation.`,
  );
}

/** @throws TroupeError `INVALID_ARGUMENTS` for a listener that would never be called. */
export function checkListener(name: string, listener: unknown): void {
  checkName('name of the event', name);
  if (!(troupeEventNames as readonly string[]).includes(name)) {
    throw unknownEvent('event to listen to', name, troupeEventNames);
  }
  if (typeof listener === 'function') return;
  throw new TroupeError('INVALID_ARGUMENTS', `The listener of "${name}" must be a function.`);
}

function typeOf(event: unknown): string | undefined {
  if (typeof event !== 'object' || event === null || !('type' in event)) return undefined;
  return typeof event.type === 'string' ? event.type : undefined;
}

function unknownEvent(what: string, name: string, known: readonly string[]): TroupeError {
  const closest = closestName(name, known);
  const hint =
    closest === undefined ? `There are: ${known.join(', ')}.` : `Did you mean "${closest}"?`;
  const shown = printableLine(name, shownLength);
  return new TroupeError('INVALID_ARGUMENTS', `There is no ${what} "${shown}". ${hint}`);
}

/** Whether the event requests another attempt. */
export function isAnotherTry({ type }: HostEvent): boolean {
  return type === 'server.start' || type === 'server.restart' || type === 'server.reconnect';
}
