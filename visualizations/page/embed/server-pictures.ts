/** The pictures of a server's chart come here when the element is built: see visualizations/vite.config.ts. */

import type { PictureFacts } from '../model/chart-facts.ts';

export const pictures: readonly PictureFacts[] = [];

/** The text of each drawing, by file. */
export const drawings: Readonly<Record<string, string>> = {};
