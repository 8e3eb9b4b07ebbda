/** The action that helps most as a button, the others that have an effect behind *More*. */

import { useState } from 'preact/hooks';
import type { PossibleAct } from '../../../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../../../src/domain/host/status.ts';
import { decisionOf, labelOf, mainActOf, sendingOf } from '../../model/acts.ts';
import { spoken } from '../../model/announcements.ts';
import { shownLine } from '../../model/shown-text.ts';
import { ask, command, messageOf } from '../../state/api.ts';
import { logIn } from '../../state/login.ts';
import { change, offReason, toast, usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';

export function Acts({ status }: { status: ServerStatus }) {
  const { name } = status;
  const off = usePage(offReason);
  const asked = useAsked(`acts ${name}`, off ?? status, () =>
    ask<{ acts: readonly PossibleAct[] }>(`api/servers/${encodeURIComponent(name)}/acts`),
  );
  const acts = asked.answer?.acts;
  if (acts === undefined) {
    return (
      <div class="acts">
        {asked.problem === undefined ? null : <p class="soft">{off ?? asked.problem}</p>}
      </div>
    );
  }
  if (off !== undefined) return <p class="acts soft acts-off">{off}</p>;
  const mainAct = mainActOf(status);
  const main = acts.find(({ act, accepted }) => accepted && act === mainAct);
  const others = acts
    .filter((act) => act.accepted && act !== main)
    .map((act) => <ActButton key={act.act} act={act} server={name} />);
  const refused = acts.filter(({ accepted }) => !accepted);
  return (
    <div class="acts" role="group" aria-label="Actions">
      {main === undefined ? null : <ActButton key={main.act} act={main} server={name} isMain />}
      {main === undefined ? (
        others
      ) : others.length === 0 ? null : (
        <details class="acts-more">
          <summary>More</summary>
          <div class="acts-others">{others}</div>
        </details>
      )}
      {refused.length === 0 ? null : <RefusedActs acts={refused} />}
    </div>
  );
}

/** The actions that have no effect now, with the reasons. */
function RefusedActs({ acts }: { acts: readonly PossibleAct[] }) {
  return (
    <details class="acts-refused">
      <summary>{acts.length} not possible now</summary>
      <dl>
        {acts.map(({ act, reason = 'It has no effect now.' }) => (
          <div key={act} data-act={act} data-refused>
            <dt>{labelOf(act)}</dt>
            <dd>{shownLine(reason)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

interface ActButtonProps {
  readonly act: PossibleAct;
  readonly server: string;
  readonly isMain?: boolean;
}

function ActButton({ act, server, isMain = false }: ActButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const decision = decisionOf(act.act);
  const label = labelOf(act.act);
  const perform = async (): Promise<void> => {
    if (isBusy) return;
    if (decision !== undefined) {
      change({ dialog: { kind: 'decision', server, decision } });
      return;
    }
    setBusy(true);
    if (act.act === 'login') {
      await logIn(server);
      setBusy(false);
      return;
    }
    const { command: name, args } = sendingOf(act.act, server);
    try {
      await command(name, args);
      toast('good', `${label}: sent to ${shownLine(server, 80)}.`);
    } catch (error) {
      toast('bad', messageOf(error));
    }
    setBusy(false);
  };
  return (
    <button
      type="button"
      class={isMain ? 'act-button act-main' : 'act-button'}
      aria-busy={isBusy}
      data-act={act.act}
      onClick={() => void perform()}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
      {label}
      {act.to === undefined ? null : <small>→ {spoken(act.to.replace('.', ', '))}</small>}
    </button>
  );
}
