/**
 * `npm start`: runs the troupe of `examples/` and the HTTP server that its settings name. Further
 * arguments go to `troupe up`.
 *
 * The HTTP server always ends with this process, even if that is killed: it holds the other end of
 * a pipe and exits when the pipe breaks.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runInThisProcess } from '../src/cli/run/run-in-this-process.ts';
import { freePort } from '../test/fixtures/remote/free-port.ts';
import { keepRunning } from './example-server.ts';

/** The server needs a second to start, and several on a busy machine. */
const startTimeoutMs = 15_000;
const connectAgainMs = 50;
/** Fast enough that users do not see the example outlive `npm start`. */
const parentCheckMs = 250;

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const everything = '../node_modules/@modelcontextprotocol/server-everything/dist/index.js';

// Runs inside the server before its own code: binds it to loopback alone, which the server itself
// does not, and ends it with the pipe on stdin.
const companion = `
  import net from 'node:net';
  const listen = net.Server.prototype.listen;
  net.Server.prototype.listen = function (port, ...rest) {
    return listen.call(this, Number(port), '127.0.0.1', ...rest);
  };
  process.stdin.on('end', () => process.exit()).on('error', () => process.exit()).resume();
`;

function canConnect(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (listening: boolean) => (): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });
}

function startHttpServer(): ChildProcess {
  return spawn(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(companion)}`,
      pathOf(everything),
      'streamableHttp',
    ],
    {
      env: { ...process.env, PORT: String(port), NODE_OPTIONS: '' },
      stdio: ['pipe', 'ignore', 'ignore'],
      // Its own group: Ctrl-C is for us, and the server must outlive the troupe's farewell.
      detached: true,
    },
  );
}

async function untilListening(server: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline && server.exitCode === null) {
    if (await canConnect()) return true;
    await delay(connectAgainMs);
  }
  return false;
}

function giveUp(message: string): never {
  process.stderr.write(`troupe: ${message}\n`);
  process.exit(2);
}

// On a signal, npm ends the shell between npm and this process, and the shell passes no signal on.
// Without this check the servers would keep running.
function stopWithParent(): void {
  const parent = process.ppid;
  const checking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(checking);
    process.kill(process.pid, 'SIGTERM');
  }, parentCheckMs);
  checking.unref();
}

stopWithParent();
// A free one, so that several `npm start` can run side by side.
const port = await freePort();
// The settings name it as `${EXAMPLE_PORT}`.
process.env['EXAMPLE_PORT'] = String(port);
// Until `up` listens, there is no live table that a line could break.
let say = (line: string): void => void process.stderr.write(`troupe: ${line}\n`);
const server = keepRunning({
  start: startHttpServer,
  say: (line) => say(line),
  later: (run, ms) => void setTimeout(run, ms).unref(),
});
process.on('exit', () => {
  server.end();
  server.current().kill('SIGKILL');
});
if (!(await untilListening(server.current()))) {
  giveUp('the example HTTP server did not start; run npm ci and try again');
}
await runInThisProcess(
  [
    'up',
    '--project',
    pathOf('../examples'),
    '--config',
    pathOf('../examples/troupe.json'),
    ...process.argv.slice(2),
  ],
  {
    onRemark(listener) {
      say = listener;
      // Next steps begin with `troupe`, which is not on the PATH in a clone.
      say('in a second terminal, for troupe: npm run -s troupe -- status --project examples');
    },
  },
);
