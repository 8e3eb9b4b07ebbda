/** Banners for a page that does not show the live troupe. */

import { wallTime } from '../state/clock.ts';
import { connect } from '../state/link.ts';
import { type PageState, usePage } from '../state/store.ts';
import { toggleLive } from '../state/travel.ts';

export function LinkBanner() {
  const link = usePage((state) => state.link);
  const isPast = usePage((state) => state.route.at !== undefined);
  const sameCharts = usePage((state) => state.session?.sameCharts ?? true);
  return (
    <div class="banners">
      <LinkState link={link} />
      {sameCharts ? null : (
        <p class="banner banner-warn">
          These records come from other charts than the ones shown here, so highlighted states may
          be wrong.
        </p>
      )}
      {isPast && link !== 'replay' ? <PastBanner /> : null}
    </div>
  );
}

function LinkState({ link }: { link: PageState['link'] }) {
  switch (link) {
    case 'lost':
      return (
        <p class="banner banner-warn" role="alert">
          <b>Connection lost.</b> The page may be out of date; it reconnects automatically.
        </p>
      );
    case 'ended':
      return (
        <p class="banner banner-bad" role="alert">
          <b>The troupe has ended.</b> The page shows its last known state.
          <button type="button" class="small-button" onClick={() => void connect()}>
            Try again
          </button>
        </p>
      );
    case 'refused':
      return (
        <p class="banner banner-bad" role="alert">
          <b>This page is not authorized.</b> Each link works once, in one tab;{' '}
          <code>troupe inspect</code> prints a new one.
        </p>
      );
    case 'replay':
      return (
        <p class="banner banner-past">
          <b>Replay.</b> This is a recorded journal. Nothing runs, and actions are not available.
        </p>
      );
    case 'loading':
    case 'live':
      return null;
  }
}

function PastBanner() {
  const at = usePage((state) => state.route.at);
  const t = usePage((state) => state.world.t);
  return (
    <p class="banner banner-past">
      <b>The past.</b> This is record {at}, {wallTime(t)}. The troupe continues meanwhile.
      <button type="button" class="small-button" onClick={toggleLive}>
        Back to now
      </button>
    </p>
  );
}
