/** The element `<troupe-chart>`, for a page of the host: `import 'mcp-troupe/chart'`. */

import type { ServerStatus, TroupeSnapshot } from './status.ts';

/** Which chart of a server is shown. */
export type ShownChart = 'connection' | 'activity' | 'catalog' | 'circuit';

/**
 * Shows one server's chart and its active state, and does nothing else. Each property but `status`
 * is an attribute too.
 */
export interface TroupeChartElement extends HTMLElement {
  /** Default: `connection`. */
  chart: ShownChart;
  /** Name of the server; the first one, if it is empty. */
  server: string;
  /** A state and its reason, if it has one: `ready`, `backingOff.retrying`. */
  state: string;
  /** Address of an inspector, as this page reaches it; its records are then followed. */
  src: string;
  /**
   * The status of the server, or of all servers. It counts until the next one, and more than
   * `state`.
   */
  status: ServerStatus | TroupeSnapshot | undefined;
}

declare global {
  // Merges with the type of browsers, and stands for it where there is none.
  // biome-ignore lint/suspicious/noEmptyInterface: see above
  interface HTMLElement {}
  interface HTMLElementTagNameMap {
    'troupe-chart': TroupeChartElement;
  }
}
