#!/usr/bin/env node
/** The program `troupe`. */

import { fileURLToPath } from 'node:url';
import { runInThisProcess } from './run/run-in-this-process.ts';

await runInThisProcess(process.argv.slice(2), { program: fileURLToPath(import.meta.url) });
