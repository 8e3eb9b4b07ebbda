/** Zoom and pan of a picture: where its corner lies on the screen, and how large it is. */

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

/** The whole picture, in the middle, never larger than life. */
export function fitted(picture: Size, frame: Size, margin = 16): Viewport {
  const scale = clampScale(
    Math.min(
      1,
      (frame.width - 2 * margin) / picture.width,
      (frame.height - 2 * margin) / picture.height,
    ),
  );
  return {
    scale,
    x: (frame.width - picture.width * scale) / 2,
    y: (frame.height - picture.height * scale) / 2,
  };
}

/** The same place under the pointer stays under it. */
export function zoomed(viewport: Viewport, factor: number, at: { x: number; y: number }): Viewport {
  const scale = clampScale(viewport.scale * factor);
  const ratio = scale / viewport.scale;
  return { scale, x: at.x - (at.x - viewport.x) * ratio, y: at.y - (at.y - viewport.y) * ratio };
}

export function panned(viewport: Viewport, dx: number, dy: number): Viewport {
  return { ...viewport, x: viewport.x + dx, y: viewport.y + dy };
}

/** Brings a box of the picture into the middle, at a size that can be read. */
export function centredOn(box: Box, frame: Size, scale: number): Viewport {
  return {
    scale,
    x: frame.width / 2 - (box.x + box.width / 2) * scale,
    y: frame.height / 2 - (box.y + box.height / 2) * scale,
  };
}

/** Whether a box of the picture can be seen whole. */
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

/** Keeps a part of the picture in the frame, so that nobody loses it. */
export function kept(viewport: Viewport, picture: Size, frame: Size): Viewport {
  const rest = 80;
  const { scale } = viewport;
  return {
    scale,
    x: Math.min(frame.width - rest, Math.max(rest - picture.width * scale, viewport.x)),
    y: Math.min(frame.height - rest, Math.max(rest - picture.height * scale, viewport.y)),
  };
}

function clampScale(scale: number): number {
  return Math.min(largestScale, Math.max(smallestScale, scale));
}
