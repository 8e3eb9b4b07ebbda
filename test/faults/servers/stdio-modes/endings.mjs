/** Bad habits of processes: children, ignored signals and input, greed, slow exits. */

import { spawn } from 'node:child_process';
import { closeSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// In the folder of the row.
const stateFile = join(dirname(process.env.FAULTS_LOG ?? ''), 'state');
const deafChild = 'process.on("SIGTERM",()=>{});setInterval(()=>{},1000)';
const offspring = (options) =>
  spawn(process.execPath, ['-e', deafChild], { stdio: 'ignore', ...options });

export const endingModes = {
  'no-ping': { other() {} },
  'ignore-term': {
    start(it) {
      process.on('SIGTERM', () => it.log('signal'));
      it.stayAlive();
    },
    end() {},
  },
  'slow-exit': {
    end(it) {
      it.after(it.number('ms', 1_500), () => {
        writeFileSync(stateFile, 'flushed');
        process.exit(0);
      });
    },
  },
  'term-only': {
    start(it) {
      it.stayAlive();
      process.on('SIGTERM', () => {
        writeFileSync(stateFile, 'term');
        process.exit(0);
      });
    },
    end() {},
  },
  grandchild: { start: () => void offspring({ stdio: ['ignore', 'inherit', 'inherit'] }) },
  'grandchild-setsid': { start: () => void offspring({ detached: true }).unref() },
  'fork-many': {
    start(it) {
      for (let n = 0; n < it.number('n', 20); n += 1) spawn('sleep', ['1000'], { stdio: 'ignore' });
    },
  },
  'grandchild-holds-pipes': {
    start: () => void offspring({ stdio: ['ignore', 'inherit', 'inherit'] }),
    call: () => process.exit(9),
  },
  'stop-self': { call: () => process.kill(process.pid, 'SIGSTOP') },
  deaf: {
    start: (it) => it.stayAlive(),
    list(it, message) {
      it.usual('list', message);
      process.stdin.pause();
    },
  },
  'close-stdin': {
    list(it, message) {
      it.usual('list', message);
      it.stayAlive();
      it.after(100, () => {
        process.stdin.destroy();
        closeSync(0);
        it.log('closed');
      });
    },
    end() {},
  },
  'stderr-flood': {
    list(it, message) {
      const block = `${'log '.repeat(25)}\n`.repeat(10_240);
      let left = it.number('mb', 100);
      const next = () => {
        if (left === 0) return it.usual('list', message);
        left -= 1;
        process.stderr.write(block, () => next());
      };
      next();
    },
  },
  'stderr-no-newline': {
    start: () => void process.stderr.write('y'.repeat(4 * 1024 * 1024)),
    call: () => process.exit(9),
  },
  'stderr-secrets': {
    list(it, message) {
      process.stderr.write(`token=${process.env.API_KEY}\n`);
      process.stderr.write('first\r\u001b[2Ktroupe: all servers are ready\n\u009b31mred\u202e\n');
      it.usual('list', message);
    },
    call: () => process.exit(9),
  },
  'cpu-spin': {
    call() {
      for (;;);
    },
  },
  'mem-hog': {
    call(it, message) {
      it.hog = Buffer.alloc(it.number('mb', 512) * 1024 * 1024, 1);
      it.usual('call', message);
    },
  },
  'write-after-eof': {
    end(it) {
      let count = 0;
      setInterval(() => {
        it.raw(
          '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n',
        );
        count += 1;
        if (count === 40) process.exit(0);
      }, 10);
    },
  },
};
