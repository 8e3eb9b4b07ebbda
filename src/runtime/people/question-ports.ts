/** Joins what a host chose about questions with the sessions that are asked. */

import type { QuestionPorts } from '../../../actors/session/ports.ts';
import type { QuestionKind } from '../../domain/question.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import type { Listeners } from '../listeners.ts';
import { Roots } from '../options/roots.ts';
import type { StatusBoard } from '../status/board.ts';
import type { TroupeOptions } from '../troupe.ts';
import { QuestionDesk, type QuestionDeskPorts } from './question-desk.ts';

export interface Questions {
  readonly desk: QuestionDesk;
  readonly roots: Roots;
  /** What sessions see of it. */
  readonly session: QuestionPorts;
  /** The command that answers what a server asks; undefined = it asks nothing. */
  stepFor(server: string): string | undefined;
}

export interface QuestionsParts extends Pick<QuestionDeskPorts, 'clock' | 'remark'> {
  readonly listeners: Listeners;
}

export function createQuestions(
  options: Pick<TroupeOptions, 'onQuestion' | 'questions' | 'roots'>,
  projectRoot: string,
  { clock, remark, listeners }: QuestionsParts,
  board: () => StatusBoard,
): Questions {
  const { onQuestion } = options;
  const kinds = options.questions ?? kindsOf(onQuestion);
  const desk = new QuestionDesk({
    clock,
    kinds,
    onQuestion,
    limitsOf: (server) => (board().sighting(server)?.desired.policy ?? defaultPolicy).call,
    emit: (name, event) => listeners.emit(name, event),
    onChange: (server) => board().refresh(server),
    remark,
  });
  const roots = new Roots(options.roots, projectRoot);
  return {
    desk,
    roots,
    stepFor(server) {
      const question = desk.firstOf(server);
      return question && `troupe answer ${question.id}`;
    },
    session: {
      kinds,
      roots: () => roots.folders,
      onRootsChanged: (callback) => roots.onChange(callback),
      ask: (server, body, party, signal) => desk.ask(server, body, party, signal),
    },
  };
}

/** A model costs money, and no callback should be asked for one unawares. */
function kindsOf(onQuestion: TroupeOptions['onQuestion']): readonly QuestionKind[] {
  return onQuestion === undefined ? [] : ['form', 'url'];
}
