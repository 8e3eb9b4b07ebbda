/**
 * The style of a picture as the page needs it: the same rules, but light and dark
 * follow the page, which has a switch of its own, and not the system alone.
 */

const darkBlock = /@media \(prefers-color-scheme:dark\)\{\.chart\{([^}]*)\}\}/;

/** @throws Error when the picture is not written as our pictures are. */
export function pageStyleOf(svg: string): string {
  const style = svg.match(/<style>([^<]*)<\/style>/)?.[1];
  const dark = style?.match(darkBlock)?.[1];
  const light = style?.match(/\.chart\{(--[^}]*)\}/)?.[1];
  if (style === undefined || dark === undefined || light === undefined) {
    throw new Error('the picture has no style with a light and a dark half');
  }
  const night = valuesOf(dark);
  const both = [...valuesOf(light)].map(
    ([name, value]) => `${name}:light-dark(${value},${night.get(name) ?? value})`,
  );
  return style.replace(darkBlock, '').replace(`.chart{${light}}`, `.chart{${both.join(';')}}`);
}

function valuesOf(block: string): ReadonlyMap<string, string> {
  return new Map(
    block.split(';').map((line) => {
      const [name = '', value = ''] = line.split(':');
      return [name, value];
    }),
  );
}
