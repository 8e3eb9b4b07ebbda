import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { createImageShrinker } from '../../../actors/stores/result-images.ts';

const imageOf = (width: number, height: number, noisy = false) => {
  const raw = Buffer.alloc(width * height * 3);
  // A cheap noise that no compression takes away, the same each time.
  if (noisy)
    for (let at = 0, seed = 1; at < raw.length; at += 1) {
      seed = (seed * 48_271) % 2_147_483_647;
      raw[at] = seed & 255;
    }
  return sharp(raw, { raw: { width, height, channels: 3 } });
};

const sizeOf = async (bytes: Buffer | undefined) => {
  const { width, height } = await sharp(bytes).metadata();
  return `${width}x${height}`;
};

describe('an image', () => {
  it('is shrunk when a side is one pixel too long, and keeps its type', async () => {
    const { shrink } = createImageShrinker();
    const fits = await imageOf(200, 100).png().toBuffer();
    expect(await shrink(fits, { maxPixels: 200, maxBytes: null })).toBeUndefined();
    for (const kind of ['png', 'jpeg', 'webp'] as const) {
      const large = await imageOf(100, 201).toFormat(kind).toBuffer();
      const smaller = await shrink(large, { maxPixels: 200, maxBytes: null });
      expect(smaller?.mimeType).toBe(`image/${kind}`);
      expect(await sizeOf(smaller?.bytes)).toMatch(/^(?:99|100)x200$/);
    }
  });

  it('is compressed lossily when it has too many bytes', async () => {
    const { shrink } = createImageShrinker();
    const noise = await imageOf(200, 200, true).png().toBuffer();
    const smaller = await shrink(noise, { maxPixels: null, maxBytes: 60_000 });
    expect(smaller?.mimeType).toBe('image/jpeg');
    expect(smaller?.bytes.length).toBeLessThanOrEqual(60_000);
    expect(await shrink(noise, { maxPixels: null, maxBytes: noise.length })).toBeUndefined();
    expect(await shrink(noise, { maxPixels: null, maxBytes: 10 })).toBeUndefined();
  });

  it('is reduced to its first frame when it is animated', async () => {
    const { shrink } = createImageShrinker();
    const large = await imageOf(300, 100).gif().toBuffer();
    const smaller = await shrink(large, { maxPixels: 100, maxBytes: null });
    expect(smaller?.mimeType).toBe('image/png');
  });

  it.each([
    ['is not an image', Buffer.from('not an image')],
    ['is empty', Buffer.alloc(0)],
    [
      'is an SVG document',
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9000" height="9000"></svg>'),
    ],
    // A head that promises thirty thousand by thirty thousand, and nothing behind it.
    [
      'is a decompression bomb',
      Buffer.from('89504e470d0a1a0a0000000d4948445200007530000075300802000000', 'hex'),
    ],
  ])('is left unchanged, and the next one is read, when it %s', async (_what, bytes) => {
    const { shrink } = createImageShrinker();
    expect(await shrink(bytes, { maxPixels: 10, maxBytes: 10 })).toBeUndefined();
    const large = await imageOf(20, 20).png().toBuffer();
    expect(await shrink(large, { maxPixels: 10, maxBytes: null })).toBeDefined();
  });

  it('is unchanged when sharp is not installed', async () => {
    const { shrink } = createImageShrinker(() => Promise.reject(new Error('Cannot find package')));
    const large = await imageOf(20, 20).png().toBuffer();
    expect(await shrink(large, { maxPixels: 10, maxBytes: null })).toBeUndefined();
  });

  it('waits for earlier images, and is unchanged when too many wait', async () => {
    const { shrink } = createImageShrinker();
    const large = await imageOf(20, 20).png().toBuffer();
    const all = Array.from({ length: 33 }, () => shrink(large, { maxPixels: 10, maxBytes: null }));
    const done = await Promise.all(all);
    expect(done.filter((one) => one !== undefined)).toHaveLength(32);
    expect(done.at(-1)).toBeUndefined();
    expect(await shrink(large, { maxPixels: 10, maxBytes: null })).toBeDefined();
  });
});
