/** Size and scroll place of an element, kept up to date. */

import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly scrollTop: number;
  readonly scrollLeft: number;
}

export function useFrame(ref: RefObject<HTMLElement | null>): Frame {
  const [frame, setFrame] = useState<Frame>({ width: 0, height: 0, scrollTop: 0, scrollLeft: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const measure = (): void => {
      const next = {
        width: element.clientWidth,
        height: element.clientHeight,
        scrollTop: element.scrollTop,
        scrollLeft: element.scrollLeft,
      };
      setFrame((last) =>
        last.width === next.width &&
        last.height === next.height &&
        last.scrollTop === next.scrollTop &&
        last.scrollLeft === next.scrollLeft
          ? last
          : next,
      );
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [ref]);
  return frame;
}
