/**
 * The element `<troupe-chart>`: one server's chart, for a page of the host. It draws the pictures of
 * the inspector's page as that page does, and does nothing but show.
 */

import type { ShownChart, TroupeChartElement } from '../../../src/domain/host/chart-element.ts';
import type { InspectionPicture, InspectionRecord } from '../../../src/domain/host/inspection.ts';
import type { ServerStatus, TroupeSnapshot } from '../../../src/domain/host/status.ts';
import { narrowPixels, pictureFile, unfoldedInOverview } from '../model/folding.ts';
import { litStates } from '../model/lit-states.ts';
import { fitted } from '../model/viewport.ts';
import { actorOf, advance, type World, worldOf } from '../model/world.ts';
import { type Get, streamRecords } from '../state/record-stream.ts';
import stateStyle from '../styles/chart-states.css?inline';
import pictureStyle from '../styles/picture.css?inline';
import { ChartDrawing } from '../views/chart/drawing.ts';
import { drawings, pictures } from './server-pictures.ts';
import { leavesOf, stateIn, statusIn } from './status-leaves.ts';
import ownStyle from './troupe-chart.css?inline';

const nothing: Followed = { leaves: [], text: 'no state', isLost: false };

// A server that renders pages imports this file too, and has no elements.
const Base = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement);

class TroupeChart extends Base implements TroupeChartElement {
  static readonly observedAttributes = ['chart', 'server', 'state', 'src'];
  readonly #frame = document.createElement('div');
  readonly #resized = new ResizeObserver(() => this.#draw());
  #status: ServerStatus | TroupeSnapshot | undefined;
  #followed: Followed | undefined;
  #drawing: { readonly file: string; readonly drawing: ChartDrawing } | undefined;
  #leave: (() => void) | undefined;

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    // A policy may forbid style elements, but not these.
    root.adoptedStyleSheets = [pictureStyle, stateStyle, ownStyle].map((text) => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(text);
      return sheet;
    });
    this.#frame.className = 'frame';
    this.#frame.role = 'img';
    root.append(this.#frame);
  }

  get chart(): ShownChart {
    return (this.getAttribute('chart') ?? 'connection') as ShownChart;
  }
  set chart(chart: ShownChart) {
    this.setAttribute('chart', chart);
  }

  get server(): string {
    return this.getAttribute('server') ?? '';
  }
  set server(server: string) {
    this.setAttribute('server', server);
  }

  get state(): string {
    return this.getAttribute('state') ?? '';
  }
  set state(state: string) {
    this.setAttribute('state', state);
  }

  get src(): string {
    return this.getAttribute('src') ?? '';
  }
  set src(src: string) {
    this.setAttribute('src', src);
  }

  get status(): ServerStatus | TroupeSnapshot | undefined {
    return this.#status;
  }
  set status(status: ServerStatus | TroupeSnapshot | undefined) {
    this.#status = status;
    this.#draw();
  }

  connectedCallback(): void {
    // The page may have set it before this class was known.
    if (Object.hasOwn(this, 'status')) {
      const { status } = this;
      Reflect.deleteProperty(this, 'status');
      this.status = status;
    }
    this.#resized.observe(this.#frame);
    this.#follow();
  }

  disconnectedCallback(): void {
    this.#resized.disconnect();
    this.#leave?.();
  }

  attributeChangedCallback(name: string): void {
    if (!this.isConnected) return;
    if (name === 'src' || name === 'server') this.#follow();
    else this.#draw();
  }

  #follow(): void {
    this.#leave?.();
    this.#leave = undefined;
    this.#followed = undefined;
    if (this.src !== '') {
      this.#leave = followServer(this.src, this.server, (followed) => {
        // The last known state stays, and is marked as such.
        const last = followed.isLost ? (this.#followed?.leaves ?? []) : followed.leaves;
        this.#followed = { ...followed, leaves: last };
        this.#draw();
      });
    }
    this.#draw();
  }

  #shown(): Followed {
    if (this.#followed !== undefined) return this.#followed;
    const status = statusIn(this.#status, this.server) ?? stateIn(this.state);
    if (status === undefined) return nothing;
    const name = (status as Partial<ServerStatus>).name ?? this.server;
    const words = [status.state, status.reason].filter((word) => word !== undefined).join(', ');
    const text = name === '' ? words : `${name}: ${words}`;
    return { leaves: leavesOf(status), text, isLost: false };
  }

  #draw(): void {
    const { clientWidth: width, clientHeight: height } = this.#frame;
    const picture = pictures.find(({ of }) => of === this.chart);
    if (picture === undefined || width === 0) return;
    const { leaves, text, isLost } = this.#shown();
    const scope = width < narrowPixels ? 'narrow' : 'overview';
    const room = { scope, frame: { width, height } } as const;
    const unfolded = unfoldedInOverview(picture, leaves, new Map(), room);
    const drawing = this.#drawingOf(pictureFile(picture, unfolded, scope));
    drawing.light(litStates(leaves, new Set(drawing.states.keys())));
    drawing.nameInside(leaves);
    const { x, y, scale } = fitted(drawing.size, { width, height });
    drawing.svg.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    this.#frame.classList.toggle('lost', isLost);
    this.#frame.ariaLabel = `${picture.title}, ${text}`;
  }

  #drawingOf(file: string): ChartDrawing {
    if (this.#drawing?.file === file) return this.#drawing.drawing;
    const drawing = new ChartDrawing(drawings[file] ?? '', { isReadOnly: true });
    this.#drawing = { file, drawing };
    this.#frame.replaceChildren(drawing.svg);
    return drawing;
  }
}

// Another copy of this file may be on the page already.
if (globalThis.customElements?.get('troupe-chart') === undefined)
  globalThis.customElements?.define('troupe-chart', TroupeChart);

/** A server as its records show it. */
interface Followed {
  /** Empty if there is no such server. */
  readonly leaves: readonly string[];
  /** In words, for those who do not see the chart. */
  readonly text: string;
  readonly isLost: boolean;
}

const retryMs = 2_000;

/** @param src - where the inspector is; returns the function that ends it */
function followServer(src: string, server: string, show: (followed: Followed) => void): () => void {
  const base = new URL(src.endsWith('/') ? src : `${src}/`, document.baseURI);
  const get: Get = (path, init) => fetch(new URL(path, base), init);
  let leave = (): void => undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const lose = (): void => {
    leave();
    if (isOver) return;
    show({ leaves: [], text: 'not connected', isLost: true });
    clearTimeout(timer);
    timer = setTimeout(() => void begin(), retryMs);
  };
  const begin = async (): Promise<void> => {
    try {
      const response = await get('api/picture');
      if (!response.ok) return lose();
      const world = worldOf((await response.json()) as InspectionPicture);
      if (isOver) return;
      show(shownOf(world, server));
      leave = streamRecords(get, world.n, {
        record(text) {
          const record = JSON.parse(text) as InspectionRecord;
          if (record.n <= world.n) return;
          advance(world, record);
          if (record.kind === 'state' || record.kind === 'status') show(shownOf(world, server));
        },
        opened: () => undefined,
        gap: lose,
        interrupted: lose,
        refused: lose,
      });
    } catch {
      lose();
    }
  };
  void begin();
  return () => {
    isOver = true;
    clearTimeout(timer);
    leave();
  };
}

function shownOf(world: World, wanted: string): Followed {
  const [first = ''] = world.servers.keys();
  const name = wanted === '' ? first : wanted;
  const { state, reason } = world.servers.get(name) ?? {};
  const words = [state ?? 'unknown', reason].filter((word) => word !== undefined);
  const leaves = actorOf(world, name)?.leaves ?? [];
  return { leaves, text: `${name}: ${words.join(', ')}`, isLost: false };
}
