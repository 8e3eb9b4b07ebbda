/** Something asked of the server, and asked again when it may have changed. */

import { useEffect, useState } from 'preact/hooks';
import { messageOf } from './api.ts';

export interface Asked<Answer> {
  readonly answer?: Answer;
  readonly problem?: string;
}

// A server that changes ten times a second is asked about twice.
const pauseMs = 400;

/**
 * Keeps the last answer while the next is under way.
 *
 * @param question - what is asked; undefined: nothing is
 * @param version - asks anew when it is another
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
    // The first at once; repeats when things have calmed down.
    const timer = setTimeout(look, asked.question === question ? pauseMs : 0);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [question, version]);
  return asked.question === question ? asked : {};
}
