/** The button on the tile of a server that waits for a login. */

import { useState } from 'preact/hooks';
import { shownLine } from '../../model/shown-text.ts';
import { logIn } from '../../state/login.ts';
import { offReason, usePage } from '../../state/store.ts';

/** Beside the tile, which is a button itself. */
export function TileLogin({ server, isStop }: { server: string; isStop: boolean }) {
  const off = usePage(offReason);
  const [isBusy, setBusy] = useState(false);
  if (off !== undefined) return null;
  const press = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await logIn(server);
    setBusy(false);
  };
  return (
    <button
      type="button"
      class="small-button tile-login"
      data-login={server}
      tabIndex={isStop ? 0 : -1}
      aria-label={`Log in to ${shownLine(server, 80)}`}
      aria-busy={isBusy}
      onClick={() => void press()}
    >
      Log in
    </button>
  );
}
