/** One entry per mode: the steps at which it behaves badly, and how. All other steps are as usual. */

import { callModes, correlationModes } from './stdio-modes/calls.mjs';
import { endingModes } from './stdio-modes/endings.mjs';
import { floodModes } from './stdio-modes/floods.mjs';
import { framingModes } from './stdio-modes/framing.mjs';
import { listModes } from './stdio-modes/lists.mjs';
import { startModes } from './stdio-modes/start.mjs';

export const modes = {
  ...startModes,
  ...framingModes,
  ...floodModes,
  ...correlationModes,
  ...listModes,
  ...callModes,
  ...endingModes,
};
