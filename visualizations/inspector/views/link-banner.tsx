/** What stands between the page and a living troupe, when something does. */

import { wallTime } from '../page/clock.ts';
import { connect } from '../page/link.ts';
import { type PageState, usePage } from '../page/store.ts';
import { toggleLive } from '../page/travel.ts';

export function LinkBanner() {
  const link = usePage((state) => state.link);
  const isPast = usePage((state) => state.route.at !== undefined);
  const sameCharts = usePage((state) => state.session?.sameCharts ?? true);
  return (
    <div class="banners">
      <LinkState link={link} />
      {sameCharts ? null : (
        <p class="banner banner-warn">
          These records were made by other charts than the ones drawn here, so lit states may be
          wrong.
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
          <b>Connection lost.</b> What you see may be old; the page tries again by itself.
        </p>
      );
    case 'ended':
      return (
        <p class="banner banner-bad" role="alert">
          <b>The troupe has ended.</b> You see the last that was known of it.
          <button type="button" class="small-button" onClick={() => void connect()}>
            Try again
          </button>
        </p>
      );
    case 'refused':
      return (
        <p class="banner banner-bad" role="alert">
          <b>This page may not look at the troupe.</b> An address works once, in one tab;{' '}
          <code>troupe inspect</code> prints a new one.
        </p>
      );
    case 'replay':
      return (
        <p class="banner banner-past">
          <b>Replay.</b> You look at a recorded journal; nothing runs, and nothing can be done here.
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
      <b>The past.</b> You look at record {at}, {wallTime(t)}. The troupe goes on meanwhile.
      <button type="button" class="small-button" onClick={toggleLive}>
        Back to now
      </button>
    </p>
  );
}
