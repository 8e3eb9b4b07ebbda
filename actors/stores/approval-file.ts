/**
 * The file in which approvals outlive a run. It decides which servers may start, so it is trusted
 * only if all of it is as we write it and no other user could have written it.
 */

import { lstat, open } from 'node:fs/promises';
import path from 'node:path';

import { z } from 'zod';

import { type ApprovalRecord, pinKinds } from '../../src/domain/host/approval.ts';
import { codeOf } from '../files/error-code.ts';
import { readPrivateJson } from '../files/private-file.ts';
import { replaceWhole } from '../files/whole-file.ts';

const version = 2;
/** Version 1 had pins of tools only and did not record when an approval was used. */
const knownVersions = [1, version];
// Ten thousand decisions, as many as there may be servers, each with what was shown for it.
const maxBytes = 16 * 1024 * 1024;
// A year: longer than most pauses in the work on a project.
const keptUnusedMs = 365 * 24 * 3_600_000;

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
  usedAt: z.number().optional(),
  pins: z.array(
    z.strictObject({
      kind: z.enum(pinKinds).optional(),
      tool: text,
      digest,
      definition: text.optional(),
    }),
  ),
});
const fileSchema = z.strictObject({
  version: z.literal(knownVersions),
  records: z.array(recordSchema),
});

/** A decision and its project. */
export interface StoredApproval extends ApprovalRecord {
  readonly project: string;
}

export type ApprovalReading =
  /** Of all projects; empty when there is no file. */
  | { readonly records: readonly StoredApproval[] }
  /** Its content is not what we write, so it must be set aside. */
  | { readonly damage: string }
  /** It cannot be trusted, and we must not change it: what is wrong and what to do. */
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

/**
 * Drops grants that were unused for a year and whose project folder is gone. Everything
 * else stays, above all rejections: without one, the user would be asked about the server again.
 */
export async function withoutForgotten(
  records: readonly StoredApproval[],
  wallNow: number,
): Promise<readonly StoredApproval[]> {
  const isOld = ({ decision, decidedAt, usedAt = decidedAt }: StoredApproval): boolean =>
    decision === 'granted' && wallNow - Math.max(usedAt, decidedAt) > keptUnusedMs;
  const projects = new Set(records.filter(isOld).map(({ project }) => project));
  const gone = new Set<string>();
  for (const project of projects) if (await isGone(project)) gone.add(project);
  return records.filter((record) => !isOld(record) || !gone.has(record.project));
}

/** Says whether a folder is gone; one that merely cannot be read still counts as present. */
async function isGone(folder: string): Promise<boolean> {
  return lstat(folder).then(
    () => false,
    (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(codeOf(error)),
  );
}

/** The problem shown when nothing more fits into the file. */
export const fullFile = `approvals cannot be saved, because their file would be larger than ${maxBytes / 1024 ** 2} MB; remove records of projects that you no longer use from it`;

/** Drops tool definitions, which only the user compares, before it drops a decision. */
function textOf(records: readonly StoredApproval[]): string {
  const whole = `${JSON.stringify({ version, records }, undefined, 1)}\n`;
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  const bare = records.map(({ pins, ...record }) => ({
    ...record,
    pins: pins.map(({ definition: _definition, ...pin }) => pin),
  }));
  const short = `${JSON.stringify({ version, records: bare })}\n`;
  if (Buffer.byteLength(short) <= maxBytes) return short;
  throw Object.assign(new Error('too many decisions'), { code: 'EFBIG' });
}

/** Makes the new name durable; systems whose folders cannot be opened do so themselves. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
