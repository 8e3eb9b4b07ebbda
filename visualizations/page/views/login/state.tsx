/** Where a login stands, in words, and the link to its details. */

import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { isInUse, loginOf, loginState } from '../../model/logins.ts';
import { go } from '../../state/moments.ts';
import { usePage } from '../../state/store.ts';
import { ToneMark } from '../marks.tsx';
import { LoginFailure, useLoginContext } from './facts.tsx';
import { LoginWait } from './wait.tsx';

export function LoginState({ actor }: { actor: PicturedActor }) {
  const { text, tone } = loginState(actor);
  return (
    <span class={`state-name tone-${tone}`} data-login-state={actor.leaves.join(' ')}>
      <ToneMark tone={tone} />
      <b>{text}</b>
    </span>
  );
}

/** The login of a server, in the server's panel; nothing for a server that needs none. */
export function ServerLogin({ server }: { server: string }) {
  const actor = usePage((state) => {
    void state.revision;
    const login = loginOf(state.world, server);
    return login !== undefined && isInUse(state.world, login) ? login : undefined;
  });
  const context = useLoginContext(actor);
  if (actor === undefined) return null;
  return (
    <section class="server-login" aria-label="Login">
      <h3>Login</h3>
      <p class="login-line">
        <LoginState actor={actor} />
        <button type="button" class="small-button" onClick={() => go({ actor: actor.actor })}>
          Show the login
        </button>
      </p>
      <LoginWait actor={actor} server={server} />
      <LoginFailure failure={context?.failure} />
    </section>
  );
}
