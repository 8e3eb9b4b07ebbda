/** Which records the sequence shows. */

import { type RowKind, rowKinds } from '../../model/sequence-rows.ts';
import { shownLine } from '../../model/shown-text.ts';
import { go } from '../../state/moments.ts';
import { usePage } from '../../state/store.ts';

const names: Readonly<Record<RowKind, string>> = {
  event: 'Events',
  state: 'States',
  ignored: 'Ignored',
  timer: 'Timers',
  step: 'Steps',
  status: 'Status',
  life: 'Lives and passes',
};

interface SequenceBarProps {
  readonly kinds: ReadonlySet<RowKind>;
  readonly onKinds: (kinds: ReadonlySet<RowKind>) => void;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly count: number;
  /** Whether rows show their records' numbers. */
  readonly isNumbered: boolean;
  readonly onNumbered: (isNumbered: boolean) => void;
}

export function SequenceBar(props: SequenceBarProps) {
  const { kinds, onKinds, text, onText, count, isNumbered, onNumbered } = props;
  const server = usePage((state) => state.route.server);
  const held = usePage((state) => (state.revision, state.history.records.length));
  const filling = usePage((state) => state.filling);
  const toggle = (kind: RowKind): void => {
    const next = new Set(kinds);
    if (!next.delete(kind)) next.add(kind);
    onKinds(next);
  };
  return (
    <div class="sequence-bar">
      <input
        type="search"
        data-filter
        class="field"
        placeholder="Filter by event or state"
        aria-label="Filter records (/)"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <div class="kinds" role="group" aria-label="Kinds of records">
        {rowKinds.map((kind) => (
          <button
            key={kind}
            type="button"
            class="kind"
            aria-pressed={kinds.has(kind)}
            onClick={() => toggle(kind)}
          >
            {names[kind]}
          </button>
        ))}
      </div>
      <button
        type="button"
        class="kind"
        aria-pressed={isNumbered}
        onClick={() => onNumbered(!isNumbered)}
      >
        Numbers
      </button>
      {server === undefined ? null : (
        <button
          type="button"
          class="kind only"
          onClick={() => go({ server: undefined, actor: undefined })}
        >
          only {shownLine(server, 40)} <span aria-hidden="true">×</span>
        </button>
      )}
      <p class="soft number sequence-count">
        {count.toLocaleString('en')} of {held.toLocaleString('en')} records
        {filling ? ', reading more…' : ''}
      </p>
    </div>
  );
}
