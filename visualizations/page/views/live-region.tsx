/** Announces changes to screen readers, at most every three seconds. */

import { useEffect, useState } from 'preact/hooks';
import { announcement } from '../model/announcements.ts';
import { shownLine } from '../model/shown-text.ts';
import { takeChanged } from '../state/link.ts';
import { current } from '../state/store.ts';

const pauseMs = 3_000;

export function LiveRegion() {
  const [text, setText] = useState('');
  useEffect(() => {
    const tell = (): void => {
      const { live } = current();
      const changed = takeChanged().flatMap((name) => live.servers.get(name) ?? []);
      const said = announcement(changed);
      if (said !== undefined) setText(shownLine(said, 500));
    };
    const timer = setInterval(tell, pauseMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="unseen" aria-live="polite" data-live-region>
      {text}
    </div>
  );
}
