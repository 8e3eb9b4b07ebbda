/** What each field of a policy reaches: nothing yet, one server, or the whole troupe. */

import type { PolicyField, PolicyGroup } from '../../domain/policy.ts';

/**
 * Fields that are read, checked and shown, and that nothing obeys in this
 * version. Whoever makes one work takes it out of here, and the documents and
 * the problem shown to whoever sets it change with it.
 */
const fieldsWithoutEffect: ReadonlySet<string> = new Set<PolicyField>([
  'idle.drainMs',
  'idle.maxIdleMs',
  'auth.onMissing',
  'auth.parkMs',
  'auth.background',
  'auth.refresh',
  'reload.mode',
  'reload.debounceMs',
]);

/** Fields that are about all servers together: one server cannot differ in them. */
const fieldsOfTheTroupe: ReadonlySet<string> = new Set<PolicyField>([
  'startup.gateMs',
  'connect.localSlots',
  'connect.remoteSlots',
  'catalog.cache',
  'catalog.maxEntries',
  'result.filesMaxCount',
  'result.filesMaxBytes',
  'result.filesMaxAgeMs',
  'admission.maxServers',
  'admission.budget',
  'approval.gatedScopes',
  'reload.mode',
  'reload.debounceMs',
]);

/** Says whether this version obeys the field. */
export function takesEffect(group: PolicyGroup, field: string): boolean {
  return !fieldsWithoutEffect.has(`${group}.${field}`);
}

/** Says whether the field counts for all servers together. */
export function isTroupeWide(group: PolicyGroup, field: string): boolean {
  return fieldsOfTheTroupe.has(`${group}.${field}`);
}
