/** What the next pass would do, and problems in the settings. */

import { useEffect, useState } from 'preact/hooks';
import type { Step } from '../../../../src/domain/plan.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command, messageOf } from '../../state/api.ts';
import { usePage } from '../../state/store.ts';
import { Empty } from '../controls.tsx';
import { Dialog } from './dialog.tsx';

export function PlanDialog() {
  const [steps, setSteps] = useState<readonly Step[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    command<{ steps: readonly Step[] }>('plan')
      .then((plan) => setSteps(plan.steps))
      .catch((error: unknown) => setProblem(messageOf(error)));
  }, []);
  return (
    <Dialog title="Plan" isWide>
      <Problems />
      {problem === undefined ? null : <p class="problem">{problem}</p>}
      {steps === undefined && problem === undefined ? (
        <p class="soft">Reading the settings…</p>
      ) : null}
      {steps === undefined ? null : <Steps steps={steps} />}
    </Dialog>
  );
}

function Steps({ steps }: { steps: readonly Step[] }) {
  const moving = steps.filter(({ step }) => step !== 'keep');
  if (moving.length === 0) {
    return <Empty title="Nothing to do">All servers match the settings.</Empty>;
  }
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th>Server</th>
          <th>Step</th>
          <th>Why</th>
        </tr>
      </thead>
      <tbody>
        {moving.map(({ server, step, why }) => (
          <tr key={server}>
            <td class="mono">{shownLine(server)}</td>
            <td>{step}</td>
            <td>{shownLine(why)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Problems() {
  const problems = usePage((state) => (state.revision, state.world.troupe?.problems));
  if (problems === undefined || problems.length === 0) return null;
  return (
    <section class="problems">
      <h3>Problems in the settings</h3>
      <ul>
        {problems.map(({ file, line, message }) => (
          <li key={`${file}:${line}:${message}`}>
            <span class="mono soft">{`${shownLine(file)}${line === undefined ? '' : `:${line}`}`}</span>
            <span>{shownLine(message, 1_000)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
