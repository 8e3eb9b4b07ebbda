/** One entry per mode: its handling of an exchange; `usual` behaves properly. */

const onCall = (action) => (it) => (it.isCall ? action(it) : it.usual());
const status =
  (code, body = {}, headers = {}) =>
  (it) =>
    it.send(code, body, headers);

const refusals = {
  ok: (it) => it.usual(),
  // Like most servers of 2025: without a session it answers only the handshake.
  stateful: (it) =>
    it.method === 'initialize' || it.request.headers['mcp-session-id'] !== undefined
      ? it.usual()
      : it.fail(400, -32_000, 'Bad Request: no session'),
  401: status(
    401,
    {},
    { 'www-authenticate': 'Bearer realm="x", resource_metadata="http://127.0.0.1:9/none"' },
  ),
  '401-after': (it) => (it.server.calls > 0 ? status(401)(it) : it.usual()),
  403: status(403),
  '403-scope-loop': onCall((it) =>
    it.send(
      403,
      {},
      { 'www-authenticate': `Bearer error="insufficient_scope", scope="s${it.server.calls}"` },
    ),
  ),
  '404-session-loop': (it) => {
    const isEstablished = it.request.headers['mcp-session-id'] !== undefined && it.id !== undefined;
    if (isEstablished && it.method !== 'initialize')
      return it.fail(404, -32001, 'Session not found');
    it.usual();
  },
  '404-transient': (it) => {
    if (it.method === 'initialize') return it.initialize({});
    if (it.isCall && it.server.calls === 1)
      return it.send(404, 'not found', { 'content-type': 'text/plain' });
    it.usual();
  },
  500: status(500),
  '500-call': onCall(status(500)),
  '502-html': onCall(
    status(502, '<html><script>alert(1)</script>secret page</html>', {
      'content-type': 'text/html',
    }),
  ),
  '503-after': (it) => {
    it.server.refused = (it.server.refused ?? 0) + 1;
    if (it.server.refused > Number(it.option('n', '2'))) return it.usual();
    it.send(503, {}, { 'retry-after': it.option('wait', '3') });
  },
  '405-discover': (it) => {
    if (it.method === 'server/discover') return it.send(405, '');
    it.usual();
  },
  '500-discover': (it) => {
    if (it.method === 'server/discover') return it.send(500, '');
    it.usual();
  },
};

const bodies = {
  '200-html': onCall(status(200, '<h1>Log in to the hotel</h1>', { 'content-type': 'text/html' })),
  '200-empty': onCall(status(200, '')),
  '200-truncated': onCall((it) =>
    it.send(200, `{"jsonrpc":"2.0","id":${it.id},"result":{"content":[`),
  ),
  '202-on-request': onCall((it) => it.response.writeHead(202).end()),
  '204-on-request': onCall((it) => it.response.writeHead(204).end()),
  'bad-chunk': onCall((it) => {
    it.raw(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n',
    );
  }),
  'short-length': onCall((it) => {
    it.raw(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"jsonrpc"',
    );
    it.socket.end();
  }),
  'not-http': onCall((it) => {
    it.raw('220 mail.example ESMTP ready\r\n');
    it.socket.end();
  }),
  'header-flood': onCall((it) => {
    it.raw(`HTTP/1.1 200 OK\r\n${'x-filler: '.concat('y'.repeat(1_000), '\r\n').repeat(200)}\r\n`);
  }),
  'gzip-lie': onCall((it) =>
    it.send(200, '{"this":"is not gzip"}', { 'content-encoding': 'gzip' }),
  ),
};

/** Writes a chunk again and again until the connection closes. */
function pour(it, chunk) {
  const more = () => {
    if (it.response.destroyed) return;
    if (it.response.write(chunk)) setImmediate(more);
    else it.response.once('drain', more);
  };
  more();
}

const slow = {
  hang: onCall(() => {}),
  'hang-all': () => {},
  'slow-headers': onCall((it) => {
    const header = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
    let at = 0;
    const timer = setInterval(() => {
      it.raw(header[at % header.length]);
      at += 1;
      if (it.socket.destroyed || at === header.length) clearInterval(timer);
    }, 50);
  }),
  'slow-body': onCall((it) => {
    it.response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => {
      it.response.write(' ');
      if (it.response.destroyed) clearInterval(timer);
    }, 50);
  }),
  'endless-body': onCall((it) => {
    it.response.writeHead(200, { 'content-type': 'application/json' });
    pour(it, Buffer.alloc(65_536, 0x20));
  }),
  'sse-huge-event': onCall((it) => {
    it.events('data: ');
    pour(it, Buffer.alloc(65_536, 0x61));
  }),
  'reset-call': onCall((it) => it.socket.resetAndDestroy()),
  'reset-mid-body': onCall((it) => {
    it.response.writeHead(200, { 'content-type': 'application/json' });
    it.response.write('{"jsonrpc":"2.0",', () => it.socket.resetAndDestroy());
  }),
};

const redirects = {
  'redirect-other': (it) => it.send(307, '', { location: it.option('to') }),
  'redirect-late': onCall((it) => it.send(307, '', { location: it.option('to') })),
  'redirect-loop': (it) => it.send(307, '', { location: it.request.url }),
  'redirect-file': (it) => it.send(302, '', { location: 'file:///etc/passwd' }),
};

const streams = {
  'ok-sse': onCall((it) => {
    it.events(it.event({ id: it.id, result: it.text(it.message.params.arguments?.text) }));
    it.response.end();
  }),
  'sse-odd-legal': onCall((it) => {
    const answer = JSON.stringify({
      jsonrpc: '2.0',
      id: it.id,
      result: it.text(it.message.params.arguments?.text),
    });
    const [head, tail] = [answer.slice(0, 20), answer.slice(20)];
    // A comment, unknown fields, CRLF, no space after the colon, an event without data, a split response.
    it.events(`: hello\r\nretry: 5000\r\nfoo: bar\r\n\r\nevent:message\r\nid:1\r\ndata:${head}`);
    it.response.write(`${tail}\r\n\r\n: bye\n\n`);
    it.response.end();
  }),
  'sse-never': onCall((it) => {
    it.events();
    const timer = setInterval(() => {
      it.response.write(': still here\n\n');
      if (it.response.destroyed) clearInterval(timer);
    }, 50);
  }),
  'sse-drop': onCall((it) => {
    it.events(': hello\n\n');
    it.response.end();
  }),
  'sse-progress-forever': onCall((it) => {
    it.events();
    const progressToken = it.message.params._meta?.progressToken;
    const timer = setInterval(() => {
      it.response.write(
        it.event({ method: 'notifications/progress', params: { progressToken, progress: 1 } }),
      );
      if (it.response.destroyed) clearInterval(timer);
    }, 50);
  }),
  'sse-retry-0': (it) => dropListening(it, 'retry: 0\n\n'),
  'sse-retry-huge': (it) => dropListening(it, 'retry: 999999999999\n\n'),
  'sse-storm': (it) => {
    if (it.request.method !== 'GET') return it.usual();
    it.events();
    const changed = it.event({ method: 'notifications/tools/list_changed' });
    for (let count = 0; count < 10_000; count += 1) it.response.write(changed);
  },
  'sse-server-requests': onCall((it) => {
    it.events();
    for (let n = 0; n < 200; n += 1) {
      it.response.write(
        it.event({
          id: `ask-${n}`,
          method: 'elicitation/create',
          params: {
            message: 'Your password?',
            requestedSchema: { type: 'object', properties: {} },
          },
        }),
      );
    }
    it.response.end(it.event({ id: it.id, result: it.text('done') }));
  }),
};

function dropListening(it, first) {
  if (it.request.method !== 'GET') return it.usual();
  it.events(first);
  it.response.end();
}

const sessions = {
  'session-bad-id': (it) => {
    if (it.method !== 'initialize') return it.usual();
    const id = it.option('long') === undefined ? 'a b c' : 'x'.repeat(Number(it.option('long')));
    it.initialize({ 'mcp-session-id': id });
  },
  'session-rotates': (it) => {
    if (it.request.method !== 'POST' || it.id === undefined || it.method === 'initialize')
      return it.usual();
    it.reply(
      it.isCall ? it.text('hi') : { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      {
        'mcp-session-id': `rotated-${it.server.requests}`,
      },
    );
  },
};

const modern = (result) => ({ resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result });

const eras = {
  'modern-only': (it) => {
    if (it.method === 'server/discover')
      return it.reply(modern({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }));
    if (it.method === 'initialize') return it.fail(400, -32601, 'Method not found');
    if (it.method === 'tools/list')
      return it.reply(modern({ tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }));
    if (it.isCall) return it.reply(modern(it.text(it.message.params.arguments?.text)));
    it.usual();
  },
  'modern-bad-version': (it) =>
    it.fail(400, -32022, 'Unsupported protocol version', {
      supported: ['2099-01-01'],
      requested: '2026-07-28',
    }),
  'keepalive-reset': (it) => {
    it.usual();
    if (it.method !== 'tools/list' && !it.isCall) return;
    // The connection closes after this response, which the client notices only when it reuses it.
    it.response.once('finish', () => {
      const { socket } = it;
      socket.removeAllListeners('data');
      socket.on('data', () => socket.resetAndDestroy());
    });
  },
};

export const modes = {
  ...refusals,
  ...bodies,
  ...slow,
  ...redirects,
  ...streams,
  ...sessions,
  ...eras,
};
