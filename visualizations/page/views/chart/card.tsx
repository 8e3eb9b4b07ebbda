/** Explains a state or an arrow: its meaning, source and targets. */

import {
  type MachineFacts,
  type NamedFacts,
  namedFacts,
  type Place,
  sourceOf,
  type TransitionFacts,
  transitionsOf,
} from '../../model/chart-facts.ts';
import { CopyButton, IconButton } from '../controls.tsx';
import type { Target } from './drawing.ts';

interface ChartCardProps {
  readonly target: Target;
  readonly facts: MachineFacts;
  readonly machine: string;
  readonly isPinned: boolean;
  /** What a click does while the card is not pinned. */
  readonly hint: string;
  readonly onClose: () => void;
  readonly onGo: (target: Target) => void;
  /** Asks for the way to a state. */
  readonly onWay: (path: string) => void;
}

export function ChartCard(props: ChartCardProps) {
  const { isPinned, onClose } = props;
  return (
    <div
      class={isPinned ? 'chart-card pinned' : 'chart-card'}
      role={isPinned ? 'region' : 'tooltip'}
      aria-label="What this is"
    >
      {isPinned ? <IconButton icon="close" label="Close" onPress={onClose} /> : null}
      {props.target.kind === 'state' ? (
        <StateCard {...props} path={props.target.path} />
      ) : (
        props.target.transitions.map((id) => <TransitionCard key={id} {...props} id={id} />)
      )}
      {isPinned ? null : <p class="soft card-hint">{props.hint}</p>}
    </div>
  );
}

function StateCard(props: ChartCardProps & { path: string }) {
  const { path, facts, machine, isPinned, onGo, onWay } = props;
  const state = facts.states[path];
  const leaving = transitionsOf(facts, machine, path);
  return (
    <>
      <h3 class="mono">{path}</h3>
      {state?.doc === undefined ? null : <p>{state.doc}</p>}
      {state === undefined || state.tags.length + state.invokes.length === 0 ? null : (
        <p class="card-tags">
          {state.tags.map((tag) => (
            <span key={tag} class="card-tag">
              #{tag}
            </span>
          ))}
          {state.invokes.map((name) => (
            <span key={name} class="card-invoke">
              runs {name}
            </span>
          ))}
        </p>
      )}
      <Source place={state} isPinned={isPinned} />
      {!isPinned || machine !== 'server' ? null : (
        <p>
          <button type="button" class="small-button" onClick={() => onWay(path)}>
            How do I get here?
          </button>
        </p>
      )}
      {!isPinned || leaving.length === 0 ? null : (
        <ul class="card-transitions">
          {leaving.map(([id, transition]) => (
            <li key={id}>
              <button type="button" onClick={() => onGo({ kind: 'arrow', transitions: [id] })}>
                <Way transition={transition} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Way({ transition }: { transition: TransitionFacts }) {
  const { trigger, guard, target } = transition;
  return (
    <>
      <code>{trigger}</code>
      {guard === undefined ? null : <span class="card-guard">[{guard}]</span>}
      <span class="soft">
        {target.length === 0
          ? 'stays'
          : `→ ${target.map((path) => path.split('.').at(-1)).join(', ')}`}
      </span>
    </>
  );
}

function TransitionCard({ id, facts, machine, isPinned }: ChartCardProps & { id: string }) {
  const transition = facts.transitions[id];
  if (transition === undefined) return <p class="mono">{id}</p>;
  const { trigger, guard, actions, target, delay } = transition;
  const from = sourceOf(machine, id);
  return (
    <section class="card-transition">
      <h3>
        <code>{trigger}</code>
      </h3>
      <p class="soft mono">
        {from} {target.length === 0 ? '(stays)' : `→ ${target.join(', ')}`}
      </p>
      {delay === undefined ? null : (
        <Named
          word="after"
          name={String(delay)}
          facts={namedFacts(facts.delays, String(delay))}
          isPinned={isPinned}
        />
      )}
      {guard === undefined ? null : (
        <Named word="if" name={guard} facts={namedFacts(facts.guards, guard)} isPinned={isPinned} />
      )}
      {actions.map((action) => (
        <Named
          key={action}
          word="then"
          name={action}
          facts={namedFacts(facts.actions, action)}
          isPinned={isPinned}
        />
      ))}
      <Source place={transition} isPinned={isPinned} />
    </section>
  );
}

interface NamedProps {
  readonly word: string;
  readonly name: string;
  readonly facts: NamedFacts | undefined;
  readonly isPinned: boolean;
}

function Named({ word, name, facts, isPinned }: NamedProps) {
  return (
    <div class="card-named">
      <p>
        <span class="soft">{word}</span> <code>{name}</code>
      </p>
      {facts?.doc === undefined ? null : <p class="card-doc">{facts.doc}</p>}
      {!isPinned || facts?.code === undefined ? null : (
        <details>
          <summary>Code</summary>
          <pre class="code">{facts.code}</pre>
          <Source place={facts} isPinned />
        </details>
      )}
    </div>
  );
}

function Source({ place, isPinned }: { place: Place | undefined; isPinned: boolean }) {
  if (place?.file === undefined) return null;
  const text = place.line === undefined ? place.file : `${place.file}:${place.line}`;
  return (
    <p class="card-source">
      <span class="mono soft">{text}</span>
      {isPinned ? <CopyButton text={text} label="Copy" /> : null}
    </p>
  );
}
