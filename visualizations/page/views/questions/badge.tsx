/** The number of open questions, in the header; leads to them. */

import { useQuestions } from '../../state/question-list.ts';
import { change } from '../../state/store.ts';

export function QuestionBadge() {
  const { length } = useQuestions();
  return (
    <span role="status" class="question-status">
      {length === 0 ? null : (
        <button
          type="button"
          class="question-badge"
          title="Answer (Q)"
          data-questions={length}
          onClick={() => change({ dialog: { kind: 'questions' } })}
        >
          {length === 1 ? '1 question' : `${length} questions`}
        </button>
      )}
    </span>
  );
}
