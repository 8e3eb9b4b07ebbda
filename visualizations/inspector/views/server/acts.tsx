/** A button for each action; unavailable ones give the reason. */

import { useState } from 'preact/hooks';
import type { PossibleAct } from '../../../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../../../src/domain/host/status.ts';
import { decisionOf, labelOf, sendingOf } from '../../model/acts.ts';
import { spoken } from '../../model/announcements.ts';
import { shownLine } from '../../model/shown-text.ts';
import { ask, command, messageOf } from '../../page/api.ts';
import { logIn } from '../../page/login.ts';
import { change, offReason, toast, usePage } from '../../page/store.ts';
import { useAsked } from '../../page/use-asked.ts';

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
  return (
    <div class="acts" role="group" aria-label="Actions">
      {acts.map((act) => (
        <ActButton
          key={act.act}
          act={off === undefined ? act : { ...act, accepted: false, reason: off }}
          server={name}
        />
      ))}
      {off === undefined ? null : <p class="soft acts-off">{off}</p>}
    </div>
  );
}

function ActButton({ act, server }: { act: PossibleAct; server: string }) {
  const [isBusy, setBusy] = useState(false);
  const decision = decisionOf(act.act);
  const label = labelOf(act.act);
  const perform = async (): Promise<void> => {
    if (!act.accepted || isBusy) return;
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
  const reason = act.reason ?? 'It has no effect now.';
  return (
    <span class="act">
      <button
        type="button"
        class={decision === 'approve' || act.act === 'login' ? 'act-button act-main' : 'act-button'}
        aria-disabled={!act.accepted}
        aria-busy={isBusy}
        aria-describedby={act.accepted ? undefined : `why-${act.act}`}
        data-act={act.act}
        onClick={() => void perform()}
      >
        {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
        {label}
        {act.accepted && act.to !== undefined ? (
          <small>→ {spoken(act.to.replace('.', ', '))}</small>
        ) : null}
      </button>
      {act.accepted ? null : (
        <span class="act-why" id={`why-${act.act}`} role="tooltip">
          {shownLine(reason)}
        </span>
      )}
    </span>
  );
}
