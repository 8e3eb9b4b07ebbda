/**
 * `npm start`: the troupe of `examples/`, and beside it the HTTP server that its
 * settings name. More arguments go to `troupe up`.
 *
 * The HTTP server ends with us whatever happens: it holds the other end of a pipe
 * of ours, and exits when that breaks, even if we are killed.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runInThisProcess } from '../src/cli/run/run-in-this-process.ts';
import { keepRunning } from './example-server.ts';

/** The port in `examples/troupe.json`. */
const port = 3901;
/** The server needs one second to start on a busy machine; nobody waits longer for an example. */
const startTimeoutMs = 15_000;
const lookAgainMs = 50;
/** Fast enough that a person does not see the example outlive what ran it. */
const parentCheckMs = 250;

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const everything = '../node_modules/@modelcontextprotocol/server-everything/dist/index.js';

// Runs inside the server before its own code: binds to loopback alone, which it
// would not by itself, and ends it with the pipe on stdin.
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
    await delay(lookAgainMs);
  }
  return false;
}

function giveUp(message: string): never {
  process.stderr.write(`troupe: ${message}\n`);
  process.exit(2);
}

// At a signal, npm ends the shell between us, and the shell tells nobody: unseen,
// we would hold the port and the servers for ever.
function stopWithParent(): void {
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    process.kill(process.pid, 'SIGTERM');
  }, parentCheckMs);
  looking.unref();
}

stopWithParent();
if (await canConnect()) {
  giveUp(
    `port ${port} of 127.0.0.1 is taken, and the example server needs it; end what holds it, or change the port in examples/troupe.json and scripts/start.ts`,
  );
}
// Until `up` listens, there is no table that a line could harm.
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
      // `troupe` is on nobody's path in a clone, though every next step that is shown begins with it.
      say('in a second terminal, for troupe: npm run -s troupe -- status --project examples');
    },
  },
);
