// Messages that a server may send, and ways to corrupt them. All choices depend on a seed.

/** A generator of numbers below 1 (mulberry32), so that a run can be repeated. */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const pickOf = (random) => (choices) => choices[Math.floor(random() * choices.length)];

const schema = {
  type: 'object',
  properties: { name: { type: 'string', title: 'N' } },
  required: ['name'],
};
const tool = {
  name: 't',
  description: 'd',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
};

const capabilities = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: {},
  logging: {},
  completions: {},
};
const serverInfo = { name: 'fuzz', version: '1' };
const cached = { ttlMs: 0, cacheScope: 'private' };
const textBlock = { type: 'text', text: 'x' };
const results = {
  'tools/list': { tools: [tool], ...cached },
  'resources/list': { resources: [{ uri: 'a:b', name: 'r' }], ...cached },
  'resources/templates/list': { resourceTemplates: [], ...cached },
  'prompts/list': { prompts: [{ name: 'p', arguments: [{ name: 'a' }] }], ...cached },
  'tools/call': { content: [textBlock], structuredContent: { a: [1, { b: null }] } },
  'resources/read': { contents: [{ uri: 'a:b', text: 'x' }] },
  'prompts/get': { messages: [{ role: 'user', content: textBlock }] },
  'completion/complete': { completion: { values: ['a'], total: 1 } },
  ping: {},
  'logging/setLevel': {},
  'resources/subscribe': {},
};

/** The result for each client request; undefined for an unknown method. */
export function resultFor(method, params, isModern) {
  if (method === 'initialize' && !isModern)
    return { protocolVersion: params?.protocolVersion, capabilities, serverInfo };
  const done = isModern ? { resultType: 'complete' } : {};
  if (method === 'server/discover' && isModern)
    return { ...done, supportedVersions: ['2026-07-28'], capabilities, serverInfo, ...cached };
  return Object.hasOwn(results, method) ? { ...done, ...results[method] } : undefined;
}

/** A well-formed unsolicited message. */
export function unasked(random, isModern) {
  const pick = pickOf(random);
  const id = pick([0, 1, 2, Math.floor(random() * 5_000), 'a', '7', -1]);
  const note = (method, params) => ({ jsonrpc: '2.0', method: `notifications/${method}`, params });
  const ask = (method, params) => ({ jsonrpc: '2.0', id, method, params });
  return pick([
    () => note('progress', { progressToken: id, progress: 1, total: 2, message: 'm' }),
    () => note('message', { level: 'info', logger: 'l', data: { a: 1 } }),
    () => note('tools/list_changed'),
    () => note('resources/list_changed', {}),
    () => note('prompts/list_changed'),
    () => note('resources/updated', { uri: 'a:b' }),
    () => note('cancelled', { requestId: id, reason: 'r' }),
    () => note('elicitation/complete', { elicitationId: 'e' }),
    () => note('subscriptions/acknowledged', { notifications: { toolsListChanged: true } }),
    () => ask('ping'),
    () => ask('roots/list'),
    () =>
      ask('sampling/createMessage', {
        messages: [{ role: 'user', content: textBlock }],
        maxTokens: 1,
      }),
    () => ask('elicitation/create', { message: 'm', requestedSchema: schema }),
    () =>
      ask('elicitation/create', {
        mode: 'url',
        message: 'm',
        url: 'https://a.example/',
        elicitationId: 'e',
      }),
    () => ask('no/such'),
    () => ({ jsonrpc: '2.0', id, result: isModern ? { resultType: 'complete' } : {} }),
    () => ({ jsonrpc: '2.0', id, error: { code: -32_603, message: 'e', data: { a: 1 } } }),
  ])();
}

/** An answer other than a result: an error, or a question of either era. */
export function otherAnswer(random, id, isModern) {
  const pick = pickOf(random);
  const elicitation = { mode: 'url', message: 'm', url: 'https://a.example/', elicitationId: 'e' };
  const input = { method: 'elicitation/create', params: { message: 'm', requestedSchema: schema } };
  return pick([
    () => ({
      jsonrpc: '2.0',
      id,
      error: { code: pick([-32_603, -32_601, -32_001, 1]), message: 'Not connected' },
    }),
    () => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32_042, message: 'm', data: { elicitations: [elicitation] } },
    }),
    () => ({
      jsonrpc: '2.0',
      id,
      result: isModern
        ? { resultType: 'input_required', inputRequests: { q: input }, requestState: 's' }
        : { content: [], isError: true },
    }),
  ])();
}

const nested = (levels) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const oddValues = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  'x',
  '\u0000\u001b[2J',
  '\ud800',
  '\u202e',
  [],
  {},
  [null],
  [[]],
  { a: null },
  'x'.repeat(70_000),
  nested(200),
  nested(300),
  Array(2_000).fill(0),
  { length: -1 },
  { toString: 1, valueOf: null },
];
const oddKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'then',
  'length',
  '',
  'id',
  'method',
  'result',
  'error',
  '_meta',
  'params',
];

/** Every property in a value: the object that holds it and its key. */
function placesIn(value, places = []) {
  if (typeof value !== 'object' || value === null) return places;
  for (const key of Object.keys(value)) {
    places.push([value, key]);
    placesIn(value[key], places);
  }
  return places;
}

function change(random, message) {
  const pick = pickOf(random);
  const places = placesIn(message);
  if (places.length === 0) return;
  const [holder, key] = pick(places);
  // Like JSON.parse, treats `__proto__` as an ordinary key; a list's length is not a key.
  const set = (name, value) =>
    (name === 'length' && Array.isArray(holder)) ||
    Object.defineProperty(holder, name, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  pick([
    () => delete holder[key],
    () => set(key, null),
    () => set(key, structuredClone(pick(oddValues))),
    () => set(key, structuredClone(pick(oddValues))),
    () => set(pick(oddKeys), structuredClone(pick(oddValues))),
    () => set(pick(oddKeys), holder[key]),
    () => set(key, [holder[key]]),
    () => set(key, { a: holder[key] }),
  ])();
}

/** A message as text: usually with up to three faults, sometimes with broken JSON. */
export function mutated(random, message) {
  const pick = pickOf(random);
  const copy = structuredClone(message);
  for (let faults = Math.floor(random() * 4); faults > 0; faults -= 1) change(random, copy);
  const text = JSON.stringify(copy);
  if (random() > 0.15) return text;
  return pick([
    () => text.slice(0, Math.floor(random() * text.length)),
    () => text.replace('{', `{"id":${pick(['null', '1', '"x"', '{}'])},"result":{},`),
    () => text.replace('"id":', '"id":[],"id":'),
    () => `[${text},${text}]`,
    () => `[${text}`,
    () => `${text}${text}`,
    () =>
      pick([
        '',
        ' ',
        '{}',
        '[]',
        'null',
        '"x"',
        '7',
        'noise',
        '\u0000',
        '{"jsonrpc":"2.0"}',
        'Content-Type: x',
      ]),
    () => text.replaceAll('"', '\\"'),
    () => `\ufeff ${text} `,
  ])();
}
