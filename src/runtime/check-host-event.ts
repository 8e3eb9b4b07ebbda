import { z } from 'zod';
import type { HostEvent } from '../domain/host-event.ts';
import { TroupeError } from '../domain/troupe-error.ts';

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
  z.strictObject({ type: z.literal('system.woke') }),
  z.strictObject({ type: z.literal('troupe.stop') }),
  z.strictObject({ type: z.literal('troupe.kill') }),
]);

/**
 * Lets through what a host may send and nothing else: an event that the charts
 * send each other, or one of XState's own, would be obeyed if it got in.
 *
 * @throws TroupeError `INVALID_ARGUMENTS` that names the offending field.
 */
export function checkHostEvent(event: unknown): HostEvent {
  const checked = hostEventSchema.safeParse(event);
  if (checked.success) return checked.data as HostEvent;
  const [issue] = checked.error.issues;
  const field = issue?.path.join('.') ?? '';
  throw new TroupeError(
    'INVALID_ARGUMENTS',
    `This event cannot be sent to a troupe${field === '' ? '' : ` (field "${field}")`}: ${issue?.message ?? 'unknown event'}. See the list of host events in the documentation.`,
  );
}
