/** Bad habits in answers and during calls. */

const megabyte = 'x'.repeat(1024 * 1024 - 1);

export const correlationModes = {
  'string-id': { call: (it, { id }) => it.say({ id: String(id), result: it.text('as text') }) },
  'null-id': { call: (it) => it.fail({ id: null }, -32603, 'who asked?') },
  'dup-response': {
    call(it, message) {
      it.reply(message, it.text(message.params.arguments.text));
      it.reply(message, it.text('again'));
    },
  },
  'late-response': {
    call(it, message) {
      if (it.calls > 1) return it.usual('call', message);
      it.after(it.number('ms', 900), () => {
        it.log('late');
        it.reply(message, it.text('late'));
      });
    },
  },
  'error-huge': { call: (it, message) => it.fail(message, -32000, `/etc/app ${megabyte}`) },
};

export const callModes = {
  'crash-on-call': {
    call(it, message) {
      if (message.params.name === 'slow') return;
      it.log('exit');
      process.exit(9);
    },
  },
  'crash-after': {
    call(it, message) {
      it.usual('call', message);
      if (it.calls >= it.number('n', 10)) it.after(5, () => process.exit(9));
    },
  },
  'crash-first-life-call': {
    call(it, message) {
      if (it.life === 1) process.exit(9);
      it.usual('call', message);
    },
  },
  'progress-forever': {
    call(it, { params }) {
      let progress = 0;
      setInterval(() => {
        progress += 1;
        it.say({
          method: 'notifications/progress',
          params: { progressToken: params._meta?.progressToken, progress },
        });
      }, 50);
    },
  },
  'fail-every-other': {
    call(it, message) {
      if (it.calls % 2 === 1) it.fail(message, -32603, 'broken inside');
      else it.usual('call', message);
    },
  },
  'fail-first-calls': {
    call(it, message) {
      if (it.calls <= it.number('n', 5)) it.fail(message, -32603, 'broken inside');
      else it.usual('call', message);
    },
  },
  'counts-at-work': {
    call(it, message) {
      it.atWork = (it.atWork ?? 0) + 1;
      it.log('at-work', { n: it.atWork });
      it.after(it.number('ms', 500), () => {
        it.atWork -= 1;
        it.reply(message, it.text('done'));
      });
    },
  },
  'server-requests': {
    call(it, message) {
      const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list', 'no/such'];
      for (let n = 0; n < it.number('n', 1_000); n += 1) {
        const params =
          n % 4 === 0
            ? { message: 'Your password?', requestedSchema: { type: 'object', properties: {} } }
            : {};
        it.say({ id: `ask-${n}`, method: methods[n % methods.length], params });
      }
      it.answers = 0;
      it.finish = () => it.usual('call', message);
    },
    other(it, message) {
      if (!String(message.id).startsWith('ask-')) return it.usual('other', message);
      it.answers += 1;
      if (message.result !== undefined) it.log('granted', { id: message.id });
      if (it.answers === it.number('n', 1_000)) it.finish();
    },
  },
  'input-required-loop': {
    discover(it, message) {
      it.isModern = true;
      it.reply(message, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    },
    call: (it, message) =>
      it.reply(message, {
        resultType: 'input_required',
        inputRequests: {
          name: {
            method: 'elicitation/create',
            params: {
              mode: 'form',
              message: 'Your name?',
              requestedSchema: { type: 'object', properties: {} },
            },
          },
        },
        requestState: 'again',
      }),
  },
  'result-traversal': {
    call: (it, message) =>
      it.reply(message, {
        content: [
          {
            type: 'resource',
            resource: {
              uri: 'file:///../../../../tmp/pwned',
              mimeType: 'text/../../x',
              blob: 'aGk=',
            },
          },
        ],
      }),
  },
  'result-proto': {
    call: (it, { id }) =>
      it.raw(
        `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"__proto__":{"polluted":1},"structuredContent":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}}\n`,
      ),
  },
  'result-ansi': { call: (it, message) => it.reply(message, it.text('\u001b[2Jhello\u0007')) },
  'result-bad-content': {
    call: (it, message) =>
      it.reply(message, { content: [{ type: 'text', text: 'good' }, null, 7] }),
  },
  'result-odd-fields': {
    call: (it, message) =>
      it.reply(message, {
        content: { text: 'good' },
        structuredContent: [1, 2],
        isError: 'false',
        _meta: [],
      }),
  },
  'result-not-an-object': { call: (it, message) => it.reply(message, 'good') },
};
