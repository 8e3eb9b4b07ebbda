/**
 * Shrinks images with `sharp` if it is installed; it is loaded with the first image. Images are
 * untrusted, so they are read one at a time, with limits on pixels and time, and an unreadable
 * image stays unchanged.
 */

export interface ImageBounds {
  /** Longest side, in pixels; null means no limit. */
  readonly maxPixels: number | null;
  /** Maximum size in bytes; null means no limit. */
  readonly maxBytes: number | null;
}

export interface SmallerImage {
  readonly bytes: Buffer;
  readonly mimeType: string;
}

export type ImageShrinker = ReturnType<typeof createImageShrinker>;

// Ten thousand by ten thousand: more is a decompression bomb.
const maxInputPixels = 100_000_000;
// An ordinary image takes a second.
const timeoutSeconds = 10;
// Further images are not shrunk, so that their calls do not wait.
const maxWaiting = 32;
// Vector images are programs, and clients do not display other formats.
const readable: ReadonlySet<string> = new Set(['png', 'jpeg', 'webp', 'gif']);
// On a photograph, the loss is invisible at the first value and visible at the last.
const qualities = [80, 60, 40];

/** The part of `sharp` that we use; its own types are missing when it is not installed. */
interface ImagePackage {
  readonly default: (
    bytes: Buffer,
    limits: { readonly limitInputPixels: number; readonly failOn: 'error' },
  ) => Image;
}

interface Image {
  metadata(): Promise<{ readonly width: number; readonly height: number; readonly format: string }>;
  autoOrient(): Image;
  timeout(limit: { readonly seconds: number }): Image;
  resize(size: { readonly width: number; readonly height: number; readonly fit: 'inside' }): Image;
  flatten(colour: { readonly background: string }): Image;
  jpeg(options: { readonly quality: number }): Image;
  toFormat(format: 'png' | 'jpeg' | 'webp'): Image;
  toBuffer(): Promise<Buffer>;
}

type Load = () => Promise<ImagePackage>;

export function createImageShrinker(load: Load = () => import('sharp')) {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    /** Resolves with undefined if the image already fits or cannot be shrunk. Never rejects. */
    shrink: (bytes: Buffer, bounds: ImageBounds): Promise<SmallerImage | undefined> => {
      if (waiting >= maxWaiting) return Promise.resolve(undefined);
      waiting += 1;
      const done = last
        .then(() => shrink(load, bytes, bounds))
        // Not installed, not an image, too many pixels, too slow.
        .catch(() => undefined)
        .finally(() => {
          waiting -= 1;
        });
      last = done;
      return done;
    },
  };
}

async function shrink(
  load: Load,
  bytes: Buffer,
  { maxPixels, maxBytes }: ImageBounds,
): Promise<SmallerImage | undefined> {
  const { default: sharp } = await load();
  const open = (): Image => sharp(bytes, { limitInputPixels: maxInputPixels, failOn: 'error' });
  const { width, height, format } = await open().metadata();
  if (!readable.has(format)) return undefined;
  const isLarge = maxPixels !== null && Math.max(width, height) > maxPixels;
  const fits = (size: number): boolean => maxBytes === null || size <= maxBytes;
  if (!isLarge && fits(bytes.length)) return undefined;
  const smaller = (): Image => {
    const image = open().autoOrient().timeout({ seconds: timeoutSeconds });
    if (!isLarge) return image;
    return image.resize({ width: maxPixels, height: maxPixels, fit: 'inside' });
  };
  // Only an animation's first frame is kept, as PNG.
  const kind = format === 'gif' ? 'png' : format;
  const same = await smaller()
    .toFormat(kind as 'png' | 'jpeg' | 'webp')
    .toBuffer();
  if (fits(same.length)) return { bytes: same, mimeType: `image/${kind}` };
  for (const quality of qualities) {
    const jpeg = await smaller().flatten({ background: 'white' }).jpeg({ quality }).toBuffer();
    if (fits(jpeg.length)) return { bytes: jpeg, mimeType: 'image/jpeg' };
  }
  return undefined;
}
