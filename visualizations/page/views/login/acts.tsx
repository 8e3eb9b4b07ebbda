/** Buttons that log in and out. */

import { useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { isAwaited, isUnderWay, type LoginContext } from '../../model/logins.ts';
import { cancelLogin, logIn, logOut } from '../../state/login.ts';
import { offReason, usePage } from '../../state/store.ts';

interface LoginActsProps {
  readonly actor: PicturedActor;
  readonly context: LoginContext | undefined;
  /** One of the servers that share the login. */
  readonly server: string;
}

export function LoginActs({ actor, context, server }: LoginActsProps) {
  const off = usePage(offReason);
  const isElsewhere = usePage((state) => !state.addresses.has(actor.actor));
  const isActive = isUnderWay(actor);
  const hasToken = context?.token !== null && context !== undefined;
  const mayBegin = !isActive || (isAwaited(actor) && isElsewhere);
  const isOff = off !== undefined;
  return (
    <div class="acts" role="group" aria-label="Actions">
      {mayBegin ? (
        <LoginButton
          act="login"
          label={isActive || hasToken ? 'Log in again' : 'Log in'}
          isMain={!hasToken}
          isOff={isOff}
          perform={() => logIn(server)}
        />
      ) : null}
      {isActive ? (
        <LoginButton
          act="cancelLogin"
          label="Cancel"
          isOff={isOff}
          perform={() => cancelLogin(server)}
        />
      ) : null}
      {hasToken && !isActive ? (
        <LoginButton act="logout" label="Log out" isOff={isOff} perform={() => logOut(server)} />
      ) : null}
      {off === undefined ? null : <p class="soft acts-off">{off}</p>}
    </div>
  );
}

interface LoginButtonProps {
  readonly act: string;
  readonly label: string;
  readonly isMain?: boolean;
  readonly isOff: boolean;
  readonly perform: () => Promise<void>;
}

function LoginButton({ act, label, isMain = false, isOff, perform }: LoginButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const press = async (): Promise<void> => {
    if (isOff || isBusy) return;
    setBusy(true);
    await perform();
    setBusy(false);
  };
  return (
    <button
      type="button"
      class={isMain ? 'act-button act-main' : 'act-button'}
      data-act={act}
      aria-disabled={isOff}
      aria-busy={isBusy}
      onClick={() => void press()}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
      {label}
    </button>
  );
}
