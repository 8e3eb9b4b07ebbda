/**
 * Starts the server as `npx` does: a process between the client and the server, which waits for
 * the server and leaves at SIGTERM without it. Passes its words on.
 */

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const server = fileURLToPath(new URL('stdio-echo.mjs', import.meta.url));
spawn(process.execPath, [server, ...process.argv.slice(2)], { stdio: 'inherit' }).once('exit', () =>
  process.exit(1),
);
process.on('SIGTERM', () => process.exit(143));
