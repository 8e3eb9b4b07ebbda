#!/usr/bin/env node
/** The program `troupe`. */

import { runInThisProcess } from './run/run-in-this-process.ts';

await runInThisProcess(process.argv.slice(2));
