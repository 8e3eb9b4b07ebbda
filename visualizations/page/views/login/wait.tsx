/** What the user does while a login waits for the browser. */

import { useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { isAwaited } from '../../model/logins.ts';
import { shownLine } from '../../model/shown-text.ts';
import { finishLogin, openAddress } from '../../state/login.ts';
import { canAct, usePage } from '../../state/store.ts';
import { CopyButton } from '../controls.tsx';
import { TimerLeft } from './facts.tsx';

export function LoginWait({ actor, server }: { actor: PicturedActor; server: string }) {
  const known = usePage((state) => state.addresses.get(actor.actor));
  const address = known?.url;
  const isNow = usePage(canAct);
  if (!isNow || !isAwaited(actor)) return null;
  const deadline = actor.timers.find(({ delay }) => delay === 'loginDeadline');
  return (
    <div class="login-wait" role="status">
      {address === undefined ? (
        <p>
          The login waits for a browser that was opened elsewhere. To use this one, log in again.
        </p>
      ) : (
        <>
          <p>
            Log in at <b>{shownLine(address.host, 120)}</b>. If no tab has opened:
          </p>
          {known?.note === undefined ? null : <p>Note: {shownLine(known.note, 500)}.</p>}
          <p class="login-open">
            {/* Not a link: the address is valid for one login, so it stays out of the document. */}
            <button type="button" class="small-button" onClick={() => openAddress(address)}>
              Open the login page
            </button>
            <CopyButton text={() => Promise.resolve(address.href)} label="Copy its address" />
          </p>
          <PasteBack server={server} />
        </>
      )}
      {deadline === undefined ? null : (
        <p class="soft">
          Ends in <TimerLeft due={deadline.armedAt + deadline.ms} />
        </p>
      )}
    </div>
  );
}

/** For a browser that cannot reach the troupe's machine. */
function PasteBack({ server }: { server: string }) {
  const [text, setText] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    const url = text.trim();
    if (url === '') return;
    setText('');
    void finishLogin(server, url);
  };
  return (
    <details>
      <summary>The last page cannot be shown</summary>
      <form class="paste-back" onSubmit={submit}>
        <label>
          <span class="soft">
            The troupe runs on another machine. Paste the address of that page here:
          </span>
          <input
            type="password"
            class="field"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="small-button">
          Pass it on
        </button>
      </form>
    </details>
  );
}
