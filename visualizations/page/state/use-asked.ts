/** Requests something from the server, and again when it may have changed. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from './api.ts';

export interface Asked<Answer> {
  readonly answer?: Answer;
  readonly problem?: string;
}

// Limits requests about a server that changes often.
const pauseMs = 400;

/**
 * Keeps the last answer while the next request is in progress.
 *
 * @param question - identifies the request; undefined = no request
 * @param version - requests again when it changes
 */
export function useAsked<Answer>(
  question: string | undefined,
  version: unknown,
  ask: () => Promise<Answer>,
): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer> & { readonly question?: string | undefined }>(
    {},
  );
  useEffect(() => {
    if (question === undefined) return undefined;
    let isOver = false;
    const take = (next: Asked<Answer>): void => {
      if (!isOver) setAsked({ ...next, question });
    };
    const look = (): void => {
      ask().then(
        (answer) => take({ answer }),
        (error: unknown) => take({ problem: messageOf(error) }),
      );
    };
    // Sends the first request immediately, and repeats only after a pause.
    const timer = setTimeout(look, asked.question === question ? pauseMs : 0);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [question, version]);
  return asked.question === question ? asked : {};
}
