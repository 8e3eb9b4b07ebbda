/** `npm run diagrams`: writes the diagrams of all charts, or checks them with `--check`. */

import { diagramFiles } from './diagram-files.ts';
import { writeOrCheck } from './generated-files.ts';

await writeOrCheck(diagramFiles, 'run `npm run diagrams`');
