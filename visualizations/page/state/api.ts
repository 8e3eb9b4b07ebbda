/** Requests to the inspector's server. */

import type { ErrorDocument } from '../../../src/domain/caller-code.ts';
import { parseJson, writeJson } from '../../../src/domain/data/exact-json.ts';
import { request } from './entry.ts';

/** An answer that is an error, with the document where the server gave one. */
export class InspectorError extends Error {
  readonly status: number;
  readonly document: Partial<ErrorDocument>;

  constructor(status: number, document: Partial<ErrorDocument>) {
    super(document.message ?? `The server answered ${status}.`);
    this.status = status;
    this.document = document;
  }
}

export async function ask<Answer>(path: string, init?: RequestInit): Promise<Answer> {
  return parseJson(await (await answerTo(path, init)).text()) as Answer;
}

export async function askText(path: string): Promise<string> {
  return (await answerTo(path)).text();
}

export async function askFile(path: string): Promise<Blob> {
  return (await answerTo(path)).blob();
}

async function answerTo(path: string, init?: RequestInit): Promise<Response> {
  const response = await request(path, init);
  if (!response.ok) throw new InspectorError(response.status, await errorOf(response));
  return response;
}

export function post<Answer>(path: string, body: unknown): Promise<Answer> {
  return ask<Answer>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: writeJson(body),
  });
}

/**
 * Runs a command of the control socket.
 * @throws InspectorError with the error document when it fails.
 */
export async function command<Result>(
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<Result> {
  const answer = await post<{ result?: Result; error?: ErrorDocument }>('api/command', {
    command: name,
    args,
  });
  if (answer.error !== undefined) throw new InspectorError(200, answer.error);
  return answer.result as Result;
}

/** The message of an error, for the user. */
export function messageOf(error: unknown): string {
  if (error instanceof InspectorError) return error.message;
  return error instanceof Error
    ? `The server cannot be reached (${error.message}).`
    : 'Something went wrong.';
}

async function errorOf(response: Response): Promise<Partial<ErrorDocument>> {
  try {
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null) return {};
    return 'error' in body
      ? (body.error as Partial<ErrorDocument>)
      : (body as Partial<ErrorDocument>);
  } catch {
    return {};
  }
}
