/**
 * The file in which decisions outlive a run. It says who may start, so nothing in
 * it is believed unless all of it is as we write it and nobody else could have
 * written it.
 */

import { open } from 'node:fs/promises';
import path from 'node:path';

import { z } from 'zod';

import type { ApprovalRecord } from '../src/domain/approval.ts';
import { readPrivateJson } from './private-file.ts';
import { replaceWhole } from './whole-file.ts';

const version = 1;
// Some ten thousand decisions; more than that nobody made.
const maxBytes = 4 * 1024 * 1024;

const text = z.string();
const digest = z.string().regex(/^[0-9a-f]{64}$/u);

const recordSchema = z.strictObject({
  /** Real path of the project. */
  project: text.min(1),
  server: text.min(1),
  fingerprint: digest,
  decision: z.enum(['granted', 'rejected', 'revoked']),
  decidedAt: z.number(),
  facts: z.array(z.strictObject({ field: text, shown: text, digest })),
  pins: z.array(z.strictObject({ tool: text, digest, definition: text.optional() })),
});
const fileSchema = z.strictObject({ version: z.literal(version), records: z.array(recordSchema) });

/** A decision and the project that it is about. */
export interface StoredApproval extends ApprovalRecord {
  readonly project: string;
}

export type ApprovalReading =
  /** Of all projects; empty when there is no file. */
  | { readonly records: readonly StoredApproval[] }
  /** Its content is not what we write: it belongs aside. */
  | { readonly damage: string }
  /** It is not to be believed, and not ours to change. What is wrong, and what to do. */
  | { readonly refusal: string };

/** Reads the decisions of all projects. Never rejects. */
export async function readApprovals(file: string): Promise<ApprovalReading> {
  const reading = await readPrivateJson(file, { maxBytes, version, schema: fileSchema });
  if ('damage' in reading || 'refusal' in reading) return reading;
  return { records: (reading.value?.records ?? []) as readonly StoredApproval[] };
}

/** Replaces the file: the old content or the new one, also after a loss of power. */
export async function writeApprovals(
  file: string,
  records: readonly StoredApproval[],
): Promise<void> {
  await replaceWhole(file, textOf(records));
  await syncFolder(path.dirname(file));
}

/** What is only there to be compared by a person goes before a decision does. */
function textOf(records: readonly StoredApproval[]): string {
  const whole = `${JSON.stringify({ version, records }, undefined, 1)}\n`;
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const bare = records.map(({ pins, ...record }) => ({
    ...record,
    pins: pins.map(({ tool, digest: pinned }) => ({ tool, digest: pinned })),
  }));
  const short = `${JSON.stringify({ version, records: bare })}\n`;
  if (Buffer.byteLength(short) <= maxBytes) return short;
  throw Object.assign(new Error('too many decisions'), { code: 'EFBIG' });
}

/** Makes the new name last; where folders cannot be opened, the system sees to it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
