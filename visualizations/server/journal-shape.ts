/**
 * Validates the documents of a journal. A journal may come from anyone, so it is checked once when it is read.
 */

import { z } from 'zod';
import type { InspectionRecord, JournalHead } from '../../src/domain/host/inspection.ts';
import { isServerName } from '../../src/policies/text/name-rule.ts';

const text = z.string();
const texts = z.array(text);
const number = z.number();
const object = z.looseObject({});
// Names are inserted into programs, command lines and pictures, so the rules for settings apply here too.
const name = text.refine(isServerName);
const server = name.optional();
// Charts of other versions have other states, but none is named like a part of every object.
const leaves = z.array(
  text.refine((leaf) => !leaf.split('.').some((key) => key in Object.prototype)),
);

const login = z.looseObject({ origin: text, account: text.optional(), servers: z.array(name) });
const timer = z.looseObject({ id: text, ms: number, armedAt: number });
const picturedActor = z.looseObject({
  actor: text,
  id: text,
  life: text,
  leaves,
  timers: z.array(timer),
  server,
  login: login.optional(),
});
const step = z.looseObject({ step: text, server: name, why: text });
const status = z.looseObject({
  name,
  state: text,
  catalog: text,
  circuit: text,
  since: text,
  generation: text,
  transport: text,
  source: object,
});

const headSchema = z.looseObject({
  kind: z.literal('journal'),
  format: z.literal(1),
  version: text,
  startedAt: text,
  clockStart: number,
  machines: object,
  picture: z.looseObject({
    n: number,
    t: number,
    actors: z.array(picturedActor),
    servers: z.array(status),
    calls: z.record(name, number).optional(),
  }),
  contexts: object,
});

// Complete, so that a new kind of record does not compile until it is added here.
const schemas: Readonly<Record<InspectionRecord['kind'], z.ZodType>> = {
  actor: z.looseObject({ actor: text, id: text, server }),
  event: z.looseObject({ to: text, type: text }),
  step: z.looseObject({ actor: text, type: text, edges: texts }),
  state: z.looseObject({ actor: text, life: text, leaves }),
  ignored: z.looseObject({ actor: text, type: text }),
  timer: z.looseObject({ actor: text, id: text, ms: number }),
  timerEnd: z.looseObject({ actor: text, id: text, fired: z.boolean() }),
  status: z.looseObject({ status }),
  login: z.looseObject({ actor: text, login }),
  gone: z.looseObject({ server: name }),
  reconciled: z.looseObject({ plan: z.array(step), durationMs: number, troupe: object }),
  gap: z.looseObject({ count: number }),
};
const recordSchema = z.looseObject({
  kind: z.enum(Object.keys(schemas) as InspectionRecord['kind'][]),
  n: number,
  t: number,
});

export function isJournalHead(value: unknown): value is JournalHead {
  return headSchema.safeParse(value).success;
}

export function isJournalRecord(value: unknown): value is InspectionRecord {
  const { success, data } = recordSchema.safeParse(value);
  return success && schemas[data.kind].safeParse(value).success;
}
