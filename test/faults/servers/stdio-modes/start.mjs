/** Bad habits at the start and in the handshake. */

export const startModes = {
  ok: {},
  'exit-0': { start: () => process.exit(0) },
  'exit-1': {
    start() {
      console.error('\u001b[31mstarting\u001b[0m');
      console.error(`\u001b[1mthe key is ${process.env.API_KEY}\u001b[0m`);
      process.exit(1);
    },
  },
  segv: { start: () => process.kill(process.pid, 'SIGSEGV') },
  'hang-init': { start: (it) => it.stayAlive(), initialize() {} },
  'slow-init': {
    initialize: (it, message) =>
      it.after(it.number('ms', 300), () => it.usual('initialize', message)),
  },
  'flaky-start': {
    start(it) {
      if (it.life <= it.number('n', 3)) process.exit(1);
    },
  },
  'clean-exit-after-ready': { list: (it, message) => leaveAfterFirstLife(it, message) },
  'exit-on-discover': { discover: () => process.exit(4) },
  'hang-discover': { discover() {} },
  'discover-no-common': {
    discover: (it, message) =>
      it.fail(message, -32022, 'Unsupported protocol version', {
        supported: ['2099-01-01'],
        requested: '2026-07-28',
      }),
  },
  'discover-late': {
    discover(it, message) {
      it.probes = (it.probes ?? 0) + 1;
      if (it.probes === 1) return;
      it.isModern = true;
      it.reply(message, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    },
    initialize: (it, message) =>
      it.fail(message, -32022, 'Unsupported protocol version', {
        supported: ['2026-07-28'],
        requested: message.params.protocolVersion,
      }),
  },
  'init-version-unknown': {
    initialize: (it, message) =>
      it.reply(message, it.initializeResult(JSON.parse(it.option('version')))),
  },
  'init-no-tools': {
    initialize: (it, message) =>
      it.reply(message, {
        ...it.initializeResult(message.params.protocolVersion),
        capabilities: {},
      }),
    list: (it, message) => it.fail(message, -32601, 'Method not found'),
  },
  'init-error': { initialize: (it, message) => it.fail(message, -32603, 'not today') },
  'init-wrong-shape': { initialize: (it, message) => it.reply(message, { protocolVersion: 7 }) },
  'init-twice': {
    initialize(it, message) {
      it.usual('initialize', message);
      it.usual('initialize', message);
    },
  },
};

function leaveAfterFirstLife(it, message) {
  it.usual('list', message);
  if (it.life === 1) it.after(100, () => process.exit(0));
}
