/** Everything about the selected login. */

import { useState } from 'preact/hooks';
import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { isAwaited, isUnderWay, type LoginContext, serversOf } from '../../model/logins.ts';
import { shownLine } from '../../model/shown-text.ts';
import { cancelLogin, logIn, logOut } from '../../state/login.ts';
import { go } from '../../state/moments.ts';
import { offReason, usePage } from '../../state/store.ts';
import { ActorPicture } from '../chart/actor-picture.tsx';
import { IconButton } from '../controls.tsx';
import { Icon, StateName } from '../marks.tsx';
import { LoginFacts, LoginFailure, useLoginContext } from './facts.tsx';
import { LoginState } from './state.tsx';
import { LoginWait } from './wait.tsx';

export function LoginPanel({ actor }: { actor: PicturedActor }) {
  const context = useLoginContext(actor);
  const view = usePage((state) => state.route.view);
  const from = usePage((state) => state.route.server);
  const servers = actor.login?.servers ?? [];
  const server = from !== undefined && servers.includes(from) ? from : servers[0];
  const name = `Login of ${servers.length === 0 ? actor.id : servers.join(', ')}`;
  return (
    <aside class="panel" aria-label={shownLine(name, 120)} data-login-panel={actor.actor}>
      <header class="panel-head">
        <div>
          {from === undefined ? null : (
            <button type="button" class="panel-back" onClick={() => go({ actor: undefined })}>
              <Icon name="back" />
              {shownLine(from, 80)}
            </button>
          )}
          <h2>{shownLine(name, 120)}</h2>
          <p class="panel-state" role="status">
            <LoginState actor={actor} />
          </p>
        </div>
        <IconButton
          icon="close"
          label="Close (Esc)"
          onPress={() => go({ server: undefined, actor: undefined })}
        />
      </header>
      {server === undefined ? null : <LoginActs actor={actor} context={context} server={server} />}
      <div class="panel-content login-content" tabIndex={0} role="region" aria-label="Details">
        {server === undefined ? null : <LoginWait actor={actor} server={server} />}
        <LoginFailure failure={context?.failure} />
        {context === undefined ? null : <LoginFacts actor={actor} context={context} />}
        <SharedBy actor={actor} />
        {view === 'chart' ? null : <Flow actor={actor} />}
      </div>
    </aside>
  );
}

function SharedBy({ actor }: { actor: PicturedActor }) {
  const world = usePage((state) => state.world);
  usePage((state) => state.revision);
  const statuses = serversOf(world, actor);
  if (statuses.length === 0) return null;
  return (
    <section aria-label="Servers that share it">
      <h3>Servers that share it</h3>
      <ul class="login-servers">
        {statuses.map(({ name, state, reason }) => (
          <li key={name}>
            <button type="button" onClick={() => go({ server: name, actor: undefined })}>
              <span class="login-server">{shownLine(name, 80)}</span>
              <StateName state={state} reason={reason} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The chart, for views that do not show it. */
function Flow({ actor }: { actor: PicturedActor }) {
  const machine = usePage((state) => state.facts?.machines['authorization']);
  const [picture] = machine?.pictures ?? [];
  if (machine === undefined || picture === undefined) return null;
  return (
    <section class="login-flow" aria-label="Where it stands">
      <h3>Where it stands</h3>
      <div class="chart-side">
        <ActorPicture actor={actor} machine={machine} picture={picture} isFork={false} />
      </div>
    </section>
  );
}

interface LoginActsProps {
  readonly actor: PicturedActor;
  readonly context: LoginContext | undefined;
  /** One of the servers that share the login. */
  readonly server: string;
}

function LoginActs({ actor, context, server }: LoginActsProps) {
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
