/** `npm run docs`: writes the generated parts of the documentation, or checks them with `--check`. */

import { generatedDocs } from './docs/generated-docs.ts';
import { writeOrCheck } from './generated-files.ts';

await writeOrCheck(generatedDocs, 'run `npm run docs`');
