/** Saves the chart as it is highlighted now, as a self-contained file. */

import { chosenActor } from './chosen.ts';
import { current } from './store.ts';

/** Style properties that are written as attributes. */
const painted = [
  'fill',
  'fill-opacity',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-opacity',
  'opacity',
  'font-family',
  'font-size',
  'font-weight',
] as const;

// Twice the size, for high-density screens.
const dotsPerPixel = 2;
// Browsers give up on larger ones.
const mostDots = 16_000;

export async function savePicture(kind: 'svg' | 'png'): Promise<void> {
  const drawing = document.querySelector<SVGSVGElement>('.chart-stage svg.chart');
  if (drawing === null) throw new Error('No chart is shown.');
  const text = selfContained(drawing);
  const { width, height } = drawing.viewBox.baseVal;
  const svg = new Blob([text], { type: 'image/svg+xml' });
  const name = fileName(drawing);
  if (kind === 'svg') save(svg, `${name}.svg`);
  else save(await rastered(svg, width, height), `${name}.png`);
}

function selfContained(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = drawing.querySelectorAll('*');
  const paper = getComputedStyle(document.body).backgroundColor;
  copy.querySelectorAll('*').forEach((element, place) => {
    const original = originals[place];
    if (original === undefined) return;
    const style = getComputedStyle(original);
    for (const name of painted) element.setAttribute(name, style.getPropertyValue(name));
    // A file has no page background behind the picture.
    if (original.classList.contains('paper')) element.setAttribute('fill', paper);
    for (const name of ['class', 'tabindex', 'role', 'style', 'aria-label'])
      element.removeAttribute(name);
  });
  for (const moving of copy.querySelectorAll('[data-moving]')) moving.remove();
  for (const name of ['class', 'style']) copy.removeAttribute(name);
  return new XMLSerializer().serializeToString(copy);
}

async function rastered(svg: Blob, width: number, height: number): Promise<Blob> {
  const address = URL.createObjectURL(svg);
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const scale = Math.min(dotsPerPixel, mostDots / Math.max(width, height));
    const canvas = document.createElement('canvas');
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) =>
        blob === null ? reject(new Error('The picture is too large.')) : resolve(blob),
      );
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Gives a file to the browser, to be saved under this name. */
export function save(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(drawing: SVGSVGElement): string {
  const state = current();
  const name = chosenActor(state)?.server ?? 'troupe';
  const what = drawing.querySelector('title')?.textContent?.replace(/^The chart /u, '') ?? 'chart';
  return `${name}-${what}-${state.world.n}`.replace(/[^\w.-]+/gu, '_');
}
