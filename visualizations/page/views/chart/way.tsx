/** How to get to a state: the shortest way from the shown moment, step by step, with the test that walks it. */

import type { PicturedActor, WayStep, WayView } from '../../../../src/domain/host/inspection.ts';
import type { MachineFacts } from '../../model/chart-facts.ts';
import { duration } from '../../model/durations.ts';
import { eventName } from '../../model/sequence-rows.ts';
import { shownLine } from '../../model/shown-text.ts';
import { usePage, type WayChoice } from '../../state/store.ts';
import { endWay, findWay, pointAtStep } from '../../state/way.ts';
import { CopyButton, IconButton } from '../controls.tsx';

interface WayProps {
  readonly actor: PicturedActor;
  readonly machine: MachineFacts;
  readonly way: WayChoice;
}

export function Way({ actor, machine, way }: WayProps) {
  const n = usePage((state) => way.found?.from ?? state.world.n);
  const { to, found, problem } = way;
  return (
    <aside class="what-if" aria-label="Way to a state">
      <header class="panel-head">
        <div>
          <h2>Way to a state</h2>
          <p class="soft">
            The shortest from record {n} of {shownLine(actor.id, 60)}, found in the chart itself.
          </p>
        </div>
        <IconButton icon="close" label="Close (Esc)" onPress={endWay} />
      </header>
      <div class="what-if-content">
        <StateChoice actor={actor} machine={machine} to={to} />
        {to === undefined ? (
          <p class="soft">Choose a state, or click one in the chart.</p>
        ) : problem !== undefined ? (
          <p class="problem">{problem}</p>
        ) : found === undefined ? (
          <p class="soft" role="status">
            Searching…
          </p>
        ) : (
          <Found found={found} machine={machine} />
        )}
      </div>
    </aside>
  );
}

function StateChoice({ actor, machine, to }: Omit<WayProps, 'way'> & { to: string | undefined }) {
  const paths = Object.keys(machine.states).filter((path) => path.includes('.'));
  return (
    <select
      class="field"
      aria-label="State"
      value={to ?? ''}
      onChange={(event) => void findWay(actor.actor, event.currentTarget.value)}
    >
      {to === undefined ? <option value="">Choose a state</option> : null}
      {paths.map((path) => (
        <option key={path} value={path}>
          {path}
        </option>
      ))}
    </select>
  );
}

function Found({ found, machine }: { found: WayView; machine: MachineFacts }) {
  const { steps, test, unrepeatable, visited, isCut } = found;
  if (steps === undefined) {
    const count = visited.toLocaleString('en');
    return (
      <p role="status">
        {isCut
          ? `No way was found among the first ${count} states of the search; there may be a longer one.`
          : `There is no way from here: the search visited all ${count} states that these settings allow.`}
      </p>
    );
  }
  if (steps.length === 0) return <p role="status">This state is active.</p>;
  return (
    <>
      <p role="status">
        {steps.length === 1 ? '1 step' : `${steps.length} steps`}, drawn in the chart.
      </p>
      <ol class="way-steps" onPointerLeave={() => pointAtStep(undefined)}>
        {steps.map((step, place) => (
          <Step key={place} step={step} place={place} machine={machine} />
        ))}
      </ol>
      {test === undefined ? null : (
        <section>
          <h3>Test</h3>
          {unrepeatable.length === 0 ? null : (
            <p class="soft">
              The test cannot repeat {unrepeatable.map(eventName).join(', ')}; add what causes it in
              your troupe.
            </p>
          )}
          <p>
            <CopyButton text={test} label="Copy the test" />
          </p>
          <details>
            <summary>Show</summary>
            <pre class="code">{test}</pre>
          </details>
        </section>
      )}
    </>
  );
}

function Step({ step, place, machine }: { step: WayStep; place: number; machine: MachineFacts }) {
  const isShown = usePage((state) => state.way?.step === place);
  const guards = step.edges.flatMap((edge) => machine.transitions[edge]?.guard ?? []);
  const failure = step.facts?.['failure'] ?? step.facts?.['verdict'];
  return (
    <li>
      <button
        type="button"
        aria-pressed={isShown}
        onPointerEnter={() => pointAtStep(place)}
        onFocus={() => pointAtStep(place)}
      >
        <span class="way-event">
          <code>{eventName(step.type)}</code>
          {typeof failure === 'string' ? <span>{failure}</span> : null}
          {step.after === 0 ? null : <span class="soft">after {duration(step.after)}</span>}
        </span>
        {guards.length === 0 ? null : (
          <span class="card-guard">[{[...new Set(guards)].join('] [')}]</span>
        )}
        <span class="soft">→ {enteredBy(step, machine).join(', ')}</span>
      </button>
    </li>
  );
}

/** The active states in the regions that the step changed. */
function enteredBy({ edges, leaves }: WayStep, machine: MachineFacts): readonly string[] {
  const regions = new Set(
    edges
      .flatMap((edge) => machine.transitions[edge]?.target ?? [])
      .map((path) => path.split('.')[0]),
  );
  const entered = leaves.filter((leaf) => regions.has(leaf.split('.')[0]));
  return entered.length === 0 ? ['stays'] : entered;
}
