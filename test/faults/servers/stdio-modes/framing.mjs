/** Bad habits in the framing of messages. */

import { writeSync } from 'node:fs';

/** Writes synchronously, before the process exits. */
const writeNow = (text) => writeSync(1, text);

const megabyte = 'x'.repeat(1024 * 1024 - 1);

export const framingModes = {
  noise: { start: (it) => it.raw('Listening on port 3000\nready!\n') },
  'noise-json': { start: (it) => it.raw('{"level":"info","msg":"hi"}\n[1,2]\n"text"\n') },
  'noise-flood': {
    initialize(it, message) {
      const lines = `${'garbage '.repeat(128)}\n`.repeat(1_024);
      let left = it.number('mb', 50);
      const flood = () => {
        if (left === 0) return it.usual('initialize', message);
        left -= 1;
        it.raw(lines);
        setImmediate(flood);
      };
      flood();
    },
  },
  crlf: withWriter((text) => process.stdout.write(text.replace(/\n$/u, '\r\n'))),
  'bare-cr': withWriter((text) => process.stdout.write(text.replace(/\n$/u, '\r'))),
  'pretty-json': withWriter((text) =>
    process.stdout.write(`${JSON.stringify(JSON.parse(text), null, 2)}\n`),
  ),
  'content-length': withWriter((text) =>
    process.stdout.write(`Content-Length: ${Buffer.byteLength(text) - 1}\r\n\r\n${text.trimEnd()}`),
  ),
  'nul-bytes': withWriter((text) => process.stdout.write(`\0${text}`)),
  batch: withWriter((text) => process.stdout.write(`[${text.trimEnd()}]\n`)),
  'no-jsonrpc': withWriter((text) => process.stdout.write(text.replace('"jsonrpc":"2.0",', ''))),
  'invalid-utf8': {
    call: (it, { id }) =>
      it.raw(
        Buffer.concat([
          Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"a`),
          Buffer.from([0xff, 0xfe]),
          Buffer.from('z"}]}}\n'),
        ]),
      ),
  },
  'random-splits': { start: (it) => speakInPieces(it, () => 1 + Math.floor(it.random() * 40)) },
  'slow-drip': { start: (it) => speakInPieces(it, () => 1) },
  'dup-keys': {
    call: (it, { id }) =>
      it.raw(
        `{"jsonrpc":"2.0","id":999999,"id":${id},"result":{"content":[{"type":"text","text":"first"}]},"result":{"content":[{"type":"text","text":"last"}]}}\n`,
      ),
  },
  'big-result': {
    call(it, message) {
      if (message.params.name !== 'echo') return it.usual('call', message);
      it.reply(message, it.text(megabyte.repeat(it.number('mb', 12))));
    },
  },
  'deep-array': {
    call(it, message) {
      it.raw(`${'['.repeat(200_000)}\n`);
      it.usual('call', message);
    },
  },
  'deep-result': {
    call: (it, { id }) => {
      const depth = it.number('n', 5_000);
      it.raw(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}}\n`,
      );
    },
  },
  'partial-exit': {
    call(it, { id }) {
      writeNow(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"ty`);
      process.exit(3);
    },
  },
  'no-final-newline-exit': {
    call(it, { id }) {
      writeNow(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"whole"}]}}`,
      );
      process.exit(3);
    },
  },
};

function withWriter(write) {
  return {
    start(it) {
      it.raw = write;
    },
  };
}

/** Sends all output in separate writes of a few bytes, which cut characters in half. */
function speakInPieces(it, sizeOfNext) {
  let seed = it.number('seed', 1);
  it.random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
  let waiting = Buffer.alloc(0);
  let isSpeaking = false;
  const next = () => {
    isSpeaking = waiting.length > 0;
    if (!isSpeaking) return;
    const size = sizeOfNext();
    const piece = waiting.subarray(0, size);
    waiting = waiting.subarray(size);
    process.stdout.write(piece, () => setImmediate(next));
  };
  it.raw = (text) => {
    waiting = Buffer.concat([waiting, Buffer.from(text)]);
    if (!isSpeaking) next();
  };
}
