/** Keyboard shortcuts, and the meaning of the marks. */

import { statesByConcern } from '../../../../src/domain/server-state.ts';
import { globalKeys } from '../../state/keyboard.ts';
import { StateName } from '../marks.tsx';
import { Dialog } from './dialog.tsx';

const chartKeys = [
  { keys: '+ −', does: 'Larger, smaller' },
  { keys: '0', does: 'The whole chart' },
  { keys: 'D', does: 'Overview or details' },
  { keys: 'C', does: 'Which transitions were taken' },
  { keys: 'W', does: 'The way to a state' },
  { keys: 'F', does: 'Follow the active states' },
  { keys: '← ↑ → ↓', does: 'Move the chart' },
  { keys: 'Tab', does: 'To the next state' },
  { keys: 'Enter', does: 'Fold or unfold a state, or explain it' },
];

const fleetKeys = [
  { keys: '← ↑ → ↓', does: 'To the next server' },
  { keys: 'Enter', does: 'Choose the server' },
];

export function HelpDialog() {
  return (
    <Dialog title="Keys and colours" isWide>
      <div class="help">
        <section>
          <h3>Everywhere</h3>
          <Keys keys={globalKeys} />
          <h3>In the fleet</h3>
          <Keys keys={fleetKeys} />
          <h3>In a chart</h3>
          <Keys keys={chartKeys} />
        </section>
        <section>
          <h3>States, most urgent first</h3>
          <ul class="state-legend">
            {statesByConcern.map((state) => (
              <li key={state}>
                <StateName state={state} />
              </li>
            ))}
          </ul>
        </section>
      </div>
    </Dialog>
  );
}

function Keys({ keys }: { keys: readonly { readonly keys: string; readonly does: string }[] }) {
  return (
    <dl class="keys">
      {keys.map(({ keys: names, does }) => (
        <div key={names}>
          <dt>
            {names.split(' ').map((name) => (
              <kbd key={name}>{name}</kbd>
            ))}
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
