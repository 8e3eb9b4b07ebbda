/** Zoom and pan of a picture: the position of its corner on the screen, and its scale. */

export interface Viewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Box extends Size {
  readonly x: number;
  readonly y: number;
}

const smallestScale = 0.08;
const largestScale = 3;
/** A whole picture may be this small: names can still be read. */
const wholeScale = 0.6;
/** Below this, the small text in the boxes is hard to read. */
const readableScale = 0.8;
const edge = 12;

/** The whole picture, centred, never enlarged. */
export function fitted(picture: Size, frame: Size): Viewport {
  const scale = clampScale(
    Math.min(
      1,
      (frame.width - 2 * edge) / picture.width,
      (frame.height - 2 * edge) / picture.height,
    ),
  );
  return {
    scale,
    x: (frame.width - picture.width * scale) / 2,
    y: (frame.height - picture.height * scale) / 2,
  };
}

/** Zooms around the pointer. */
export function zoomed(viewport: Viewport, factor: number, at: { x: number; y: number }): Viewport {
  const scale = clampScale(viewport.scale * factor);
  const ratio = scale / viewport.scale;
  return { scale, x: at.x - (at.x - viewport.x) * ratio, y: at.y - (at.y - viewport.y) * ratio };
}

export function panned(viewport: Viewport, dx: number, dy: number): Viewport {
  return { ...viewport, x: viewport.x + dx, y: viewport.y + dy };
}

/**
 * Follows the active states: shows the whole picture if it is readable, otherwise its whole width if that is
 * readable, scrolled to the active states.
 */
export function following(
  viewport: Viewport,
  picture: Size,
  frame: Size,
  active: Box | undefined,
): Viewport {
  const whole = fitted(picture, frame);
  if (whole.scale >= wholeScale) return whole;
  const wide = fitted({ width: picture.width, height: 0 }, frame);
  const isWide = wide.scale >= readableScale;
  const scale = isWide ? wide.scale : Math.max(readableScale, viewport.scale);
  const box = active ?? { x: 0, y: 0, width: 0, height: 0 };
  const isSeen = viewport.scale === scale && sees(viewport, box, frame);
  const next = isSeen ? viewport : centredOn(box, frame, scale);
  return {
    scale,
    x: isWide ? wide.x : next.x,
    y: within(next.y, frame.height - picture.height * scale - edge, edge),
  };
}

/**
 * Keeps a box at its position on the screen when another picture shows it; horizontally only if that picture is
 * wider than the screen.
 */
export function anchored(
  viewport: Viewport,
  picture: Size,
  frame: Size,
  moved: { readonly from: Box; readonly to: Box },
): Viewport {
  const wide = fitted({ width: picture.width, height: 0 }, frame);
  const isWide = wide.scale >= readableScale;
  const scale = isWide ? wide.scale : viewport.scale;
  const place = (at: number, from: number, to: number): number =>
    at + from * viewport.scale - to * scale;
  return {
    scale,
    x: isWide ? wide.x : place(viewport.x, moved.from.x, moved.to.x),
    y: place(viewport.y, moved.from.y, moved.to.y),
  };
}

/** Centres a box; shows the beginning of a box that is larger than the frame. */
export function centredOn(box: Box, frame: Size, scale: number): Viewport {
  const start = (size: number, at: number, length: number): number =>
    Math.max((size - length * scale) / 2, edge) - at * scale;
  return {
    scale,
    x: start(frame.width, box.x, box.width),
    y: start(frame.height, box.y, box.height),
  };
}

/** Whether a box is completely visible. */
export function sees(viewport: Viewport, box: Box, frame: Size): boolean {
  const left = viewport.x + box.x * viewport.scale;
  const top = viewport.y + box.y * viewport.scale;
  return (
    left >= 0 &&
    top >= 0 &&
    left + box.width * viewport.scale <= frame.width &&
    top + box.height * viewport.scale <= frame.height
  );
}

/** The visible part of a picture, in its units, and whether that is all of it. */
export interface Visible {
  readonly box: Box;
  readonly isWhole: boolean;
}

export function visibleIn(viewport: Viewport, picture: Size, frame: Size): Visible {
  const { x, y, scale } = viewport;
  const box = {
    x: -x / scale,
    y: -y / scale,
    width: frame.width / scale,
    height: frame.height / scale,
  };
  return { box, isWhole: sees(viewport, { x: 0, y: 0, ...picture }, frame) };
}

/** Keeps a part of the picture in the frame, so that it cannot be moved out of sight. */
export function kept(viewport: Viewport, picture: Size, frame: Size): Viewport {
  const rest = 80;
  const { scale } = viewport;
  return {
    scale,
    x: Math.min(frame.width - rest, Math.max(rest - picture.width * scale, viewport.x)),
    y: Math.min(frame.height - rest, Math.max(rest - picture.height * scale, viewport.y)),
  };
}

function within(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(Math.min(least, most), value));
}

function clampScale(scale: number): number {
  return Math.min(largestScale, Math.max(smallestScale, scale));
}
