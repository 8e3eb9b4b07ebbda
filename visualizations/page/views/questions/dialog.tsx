/** The open questions of servers, each with a form for its answer. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Question } from '../../../../src/domain/question.ts';
import { countdown } from '../../model/durations.ts';
import { contentOf, type Typed } from '../../model/question-form.ts';
import type { FormProblem } from '../../model/schema-form.ts';
import { shownLine, shownLines } from '../../model/shown-text.ts';
import { command, messageOf } from '../../state/api.ts';
import { useTicks } from '../../state/clock.ts';
import { forgetQuestion, readQuestions } from '../../state/question-list.ts';
import { canAct, toast, usePage } from '../../state/store.ts';
import { Empty } from '../controls.tsx';
import { Dialog } from '../dialogs/dialog.tsx';
import { QuestionField } from './field.tsx';

type Action = 'accept' | 'decline' | 'cancel';

const done: Readonly<Record<Action, string>> = {
  accept: 'answered',
  decline: 'declined',
  cancel: 'cancelled',
};

export function QuestionsDialog() {
  const questions = usePage((state) => state.questions);
  return (
    <Dialog title={questions.length === 1 ? 'A server asks' : 'Servers ask'} isWide>
      {questions.length === 0 ? <Empty title="No open questions" /> : null}
      {questions.map((question, place) => (
        <QuestionForm key={question.id} question={question} isFirst={place === 0} />
      ))}
    </Dialog>
  );
}

function QuestionForm({ question, isFirst }: { question: Question; isFirst: boolean }) {
  const { id, server, tool } = question;
  const fields = question.kind === 'form' ? question.fields : [];
  const [typed, setTyped] = useState<Readonly<Record<string, Typed>>>({});
  const [problems, setProblems] = useState<readonly FormProblem[]>([]);
  const [isBusy, setBusy] = useState(false);
  const send = async (action: Action, content?: object): Promise<void> => {
    setBusy(true);
    try {
      await command('answer', { id, action, ...(content === undefined ? {} : { content }) });
      toast('good', `${shownLine(server, 80)}: ${done[action]}.`);
      forgetQuestion(id);
    } catch (error) {
      toast('bad', messageOf(error));
      await readQuestions();
    }
    setBusy(false);
  };
  const form = useRef<HTMLFormElement>(null);
  // Before the problem is painted, so that immediate typing goes into the field.
  useLayoutEffect(() => {
    const [first] = problems;
    const field = first && form.current?.elements.namedItem(first.field);
    const element = field instanceof RadioNodeList ? field[0] : field;
    if (element instanceof HTMLElement) element.focus();
  }, [problems]);
  const accept = (): void => {
    const answer = contentOf(fields, typed);
    setProblems('problems' in answer ? answer.problems : []);
    if ('content' in answer)
      void send('accept', question.kind === 'form' ? answer.content : undefined);
  };
  return (
    <form
      ref={form}
      class="question"
      noValidate
      data-question={id}
      onSubmit={(event) => {
        event.preventDefault();
        accept();
      }}
    >
      <header>
        <h3 class="mono">{shownLine(server, 120)}</h3>
        <p class="soft">
          {tool === undefined ? 'asks' : <>asks while {<b>{shownLine(tool, 120)}</b>} runs</>}
          {' · '}
          <TimeLeft until={question.deadlineAt} />
        </p>
      </header>
      <p class="question-message">{shownLines(question.message)}</p>
      <Body question={question} />
      {fields.map((field, place) => (
        <QuestionField
          key={field.name}
          named={field}
          isFirst={isFirst && place === 0}
          typed={typed[field.name]}
          problem={problems.find((each) => each.field === field.name)?.message}
          onType={(value) => setTyped((all) => ({ ...all, [field.name]: value }))}
        />
      ))}
      <Answers question={question} isBusy={isBusy} send={(action) => void send(action)} />
    </form>
  );
}

function TimeLeft({ until }: { until: string }) {
  useTicks(true);
  return <span class="time-left">{countdown(Date.parse(until) - Date.now())} left</span>;
}

function Body({ question }: { question: Question }) {
  switch (question.kind) {
    case 'form':
      return null;
    case 'url':
      // Never cut, and never opened by itself: the user must see where it leads.
      return (
        <p class="question-link">
          Open it if you trust it:{' '}
          <a href={question.url} target="_blank" rel="noopener noreferrer" class="mono">
            {shownLine(question.url, Number.MAX_SAFE_INTEGER)}
          </a>
        </p>
      );
    case 'sampling':
      return (
        <p class="soft">
          It asks a model for a message, which cannot be given here. You can only decline.
        </p>
      );
  }
}

interface AnswersProps {
  readonly question: Question;
  readonly isBusy: boolean;
  readonly send: (action: Action) => void;
}

function Answers({ question, isBusy, send }: AnswersProps) {
  const isOff = !usePage(canAct) || isBusy;
  return (
    <p class="form-foot">
      {question.kind === 'sampling' ? null : (
        <button type="submit" class="main-button" disabled={isOff}>
          {question.kind === 'url' ? 'Done there, continue' : 'Send'}
        </button>
      )}
      <button
        type="button"
        class="danger-button"
        disabled={isOff}
        data-answer="decline"
        onClick={() => send('decline')}
      >
        Decline
      </button>
      <button
        type="button"
        class="plain-button"
        disabled={isOff}
        data-answer="cancel"
        onClick={() => send('cancel')}
      >
        Cancel the question
      </button>
    </p>
  );
}
