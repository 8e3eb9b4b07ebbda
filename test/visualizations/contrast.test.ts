import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';

const tokens = await readFile(
  new URL('../../visualizations/page/styles/tokens.css', import.meta.url),
  'utf8',
);
const pairs = new Map(
  [...tokens.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);/gu)].map(
    ([, name = '', light = '', dark = '']) => [name, { light, dark }],
  ),
);

/** Relative luminance, as the WCAG 2.2 define it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((place) => {
    const part = Number.parseInt(colour.slice(place, place + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const grounds = ['paper', 'surface', 'raised', 'sunken'];
const tones = ['good', 'busy', 'waiting', 'person', 'bad', 'quiet', 'accent'];
const written = [
  ...grounds.flatMap((ground) => ['text', 'soft', ...tones].map((ink) => [ink, ground])),
  ...tones.map((tone) => [tone, `${tone}-wash`]),
  ['on-accent', 'accent'],
];

const picture = await readFile(
  new URL('../../visualizations/charts/server.connection.svg', import.meta.url),
  'utf8',
);
const themes = [...picture.matchAll(/\.chart\{(--[^}]+)\}/gu)].map(
  ([, block = '']) =>
    new Map(
      block.split(';').map((each) => {
        const [name = '', value = ''] = each.slice(2).split(':');
        return [name, value.replace(/^#(\w)(\w)(\w)$/u, '#$1$1$2$2$3$3')];
      }),
    ),
);
const inks = [
  'text',
  'soft',
  'event',
  'after',
  'always',
  'done',
  'error',
  'invoke',
  'tag',
  'frame',
];

describe("the charts' labels", () => {
  it.each(inks)('are readable in %s on all grounds, in light and dark pictures', (ink) => {
    expect(themes).toHaveLength(2);
    for (const [place, theme] of themes.entries()) {
      const paper = pairs.get('paper')?.[place === 0 ? 'light' : 'dark'] ?? '';
      for (const ground of [theme.get('paper'), theme.get('box'), theme.get('group'), paper])
        expect(contrast(theme.get(ink) ?? '', ground ?? '')).toBeGreaterThanOrEqual(4.5);
    }
  });

  it('have a colour also where variables are unknown', () => {
    for (const [, before] of picture.matchAll(/(.{12})[\w-]+:var\(/gu))
      expect(before).toMatch(/:#\w{3,6};$/u);
  });
});

describe("the page's colours", () => {
  it.each(written)('make %s readable on %s in light and dark themes', (ink, ground) => {
    const above = pairs.get(ink ?? '');
    const below = pairs.get(ground ?? '');
    if (above === undefined || below === undefined) throw new Error(`no ${ink} or ${ground}`);
    expect(contrast(above.light, below.light)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(above.dark, below.dark)).toBeGreaterThanOrEqual(4.5);
  });
});
