/**
 * What a host holds, method by method and event by event. The types make the
 * tables complete: a new method or event has to be described here to compile.
 */

import type { HostEvent, TroupeEventName } from '../../src/domain/host/event.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';
import { code, table } from './markdown.ts';

const methods: Readonly<Record<Exclude<keyof Troupe, symbol>, readonly [string, string]>> = {
  ready: [
    'ready()',
    'Settles when the startup gate has passed: who is live, pending or failed by then. Never rejects.',
  ],
  required: [
    'required()',
    'Settles when every server with `required` is ready, each within its `startupTimeoutMs`. Rejects with the list of those that are not.',
  ],
  tools: ['tools()', 'All tools that may be called now, sorted by the name to call them by.'],
  searchTools: [
    'searchTools(query, { limit }?)',
    'The tools that fit these words best, [ranked](#finding-one-of-many-tools) offline.',
  ],
  catalog: [
    'catalog()',
    'The tools of now as `tools`, and `callTool` for them alone, held for [one step of a conversation](#one-step-of-a-conversation).',
  ],
  callTool: [
    'callTool(name, args?, { signal, timeoutMs, … }?)',
    'Calls a tool at most once; waits for a server that is starting. Rejects with a `TroupeError`.',
  ],
  callServerTool: [
    'callServerTool(server, tool, args?, options?)',
    "The same, by the server's name and its own name of the tool.",
  ],
  backgroundServers: ['backgroundServers()', 'The servers whose policy puts long calls there.'],
  backgroundCalls: [
    'backgroundCalls()',
    'The calls that take so long that they [went on without their callers](calls.md#in-the-background).',
  ],
  collect: [
    'collect(id, { signal, timeoutMs }?)',
    'What such a call answered, once; waits for it, 60 s by default.',
  ],
  permissions: [
    'permissions()',
    'What persons [allowed for more than one call](calls.md#permissions), in this project.',
  ],
  forgetPermissions: [
    'forgetPermissions({ server, tool }?)',
    'Takes back what persons allowed: for all servers, for one, or for one tool of it.',
  ],
  resources: ['resources()', 'All resources that are known, sorted by server and address.'],
  resourceTemplates: ['resourceTemplates()', 'All resource templates that are known.'],
  prompts: ['prompts()', 'All prompts that are known, sorted by server and name.'],
  instructions: ['instructions()', 'How servers want to be used, in their own words.'],
  readResource: [
    'readResource(server, uri, options?)',
    'Reads a resource, also one that is not listed; waits and fails as `callTool`.',
  ],
  getPrompt: ['getPrompt(server, name, args?, options?)', 'Gets a prompt, filled in.'],
  complete: [
    'complete(server, { ref, argument, context? }, options?)',
    'Completes an argument of a prompt or of a resource template.',
  ],
  subscribe: [
    'subscribe(server, uri)',
    'Watches a resource over all sessions to come: see `resource.updated`. Returns a function that ends it.',
  ],
  wantLogs: [
    'wantLogs(level)',
    'Asks servers for the lines of their logs from this level on; gives a function that takes it back.',
  ],
  profile: [
    'profile(server)',
    'Who a connected server says it is, and the capabilities it declared. Undefined while it is not connected.',
  ],
  snapshot: ['snapshot()', 'The status of the troupe and of every server, as plain data.'],
  status: [
    'status(server)',
    'The status of one server; undefined when there is none of that name.',
  ],
  inspection: [
    'inspection',
    'What the charts do, as records, once it was started: see [recording](#recording-what-the-charts-do).',
  ],
  server: [
    'server(name)',
    'One server as `{ name, status() }`, also one that is yet to be added, and a [stream](#streams-of-statuses) of its statuses.',
  ],
  explain: [
    'explain(server)',
    'Why a server is as it is: what decided, what would move it, which timers run, what was tried.',
  ],
  logs: [
    'logs(server)',
    'The last lines that a server wrote, and what became of it; also of one that was removed.',
  ],
  waitFor: [
    'waitFor(server, state, { signal, timeoutMs }?)',
    'Settles when the server is in the state; `ready` accepts `degraded`.',
  ],
  restartAndWait: [
    'restartAndWait(server, options?)',
    'Restarts a server and settles when a later session is ready.',
  ],
  plan: ['plan()', 'Reads the settings and lists what a pass would do now, and why; does nothing.'],
  approvals: ['approvals()', 'What would run, for every server that a project folder brought.'],
  approvalsSaved: [
    'await approvalsSaved()',
    'Whether every decision so far is on disk; waits for what is being written.',
  ],
  questions: ['questions()', 'What servers ask and wait to be told by `answer()`, oldest first.'],
  answer: [
    'answer(id, { action, content })',
    'Answers a question; refuses what does not fit it. The first answer counts.',
  ],
  on: [
    'on(event, listener)',
    'Subscribes; returns a function that ends the subscription. A listener that throws harms nobody.',
  ],
  addServer: [
    'addServer(name, settings)',
    'Adds one server, or replaces the one added under this name; it wins over files and host settings.',
  ],
  removeServer: [
    'removeServer(name)',
    'Takes back what `addServer` added; what it covered counts again.',
  ],
  send: ['send(event)', 'Tells the troupe something; refuses what is not an event of its own.'],
  stop: [
    'stop()',
    'Ends every server; settles when all are gone, at most 5 s later. Also `await using`.',
  ],
}; // prettier-ignore

const events: Readonly<Record<TroupeEventName, readonly [string, string]>> = {
  'status.changed': ['{ status }', 'The state, reason or any other field of a server changed.'],
  'tools.changed': ['{ servers }', 'The tools of these servers changed; ask `tools()`.'],
  'resources.changed': [
    '{ server }',
    'The list of its resources or templates changed; ask `resources()`.',
  ],
  'resource.updated': [
    '{ server, uri }',
    'A resource of `subscribe()` changed, or may have changed while nobody listened.',
  ],
  'prompts.changed': ['{ server }', 'The list of its prompts changed; ask `prompts()`.'],
  'approval.needed': [
    '{ server, fingerprint }',
    'A server waits for a decision; see `approvals()`.',
  ],
  'auth.needed': ['{ server }', 'A server wants a log-in.'],
  'question.asked': ['{ question }', 'A server asks something that `answer()` may answer.'],
  'question.settled': [
    '{ id, server, end }',
    'The question waits no longer: `accept`, `decline`, `cancel`, `timedOut` or `withdrawn`.',
  ],
  reconciled: ['{ plan, durationMs }', 'A pass is done, and this is what it did.'],
  'settings.invalid': [
    '{ problems }',
    'The problems of the settings, of stored catalogs, or of processes that cannot be guarded or ended, changed.',
  ],
  'server.log': [
    '{ server, number, at, session, stream, line }',
    'One line of `logs()`: what a server wrote to stderr, or to stdout beside MCP, redacted; `stream: "troupe"` is a remark or what became of it.',
  ],
  notification: [
    '{ server, method, params }',
    'A server sent a line of its log, `notifications/message`. What it says is not cleaned.',
  ],
}; // prettier-ignore

const sends: Readonly<Record<HostEvent['type'], readonly [string, string]>> = {
  'settings.changed': [
    'settings',
    "Replaces the host's own settings: an object in the form of a settings file.",
  ],
  'settings.reload': ['', 'Reads all settings files again, without waiting for the watcher.'],
  'server.start': ['server', 'Takes a stop back and starts the server.'],
  'server.stop': [
    'server',
    'Stops the server; it stays stopped until it is started or its connection settings change.',
  ],
  'server.restart': [
    'server',
    'A new session with fresh budgets, from any state but `blocked` and `disabled`.',
  ],
  'server.reconnect': ['server', 'A new session; the budgets of restarts go on counting.'],
  'approval.grant': [
    'server, fingerprint?',
    'Lets a gated server start. Without a fingerprint the decision is about the present one.',
  ],
  'approval.reject': ['server, fingerprint?', 'Keeps a gated server from starting.'],
  'approval.revoke': [
    'server, fingerprint?',
    'Takes a decision back; the server waits for approval again.',
  ],
  'trust.changed': ['trusted', 'Says whether what the project folder brings may count at all.'],
  'allow.changed': [
    'allowed',
    "Replaces the host's allow-list, within the bound given at the start; `null` = no list.",
  ],
  'auth.completed': ['server', 'A log-in that the host did is done.'],
  'roots.changed': [
    'roots',
    'Other folders that the work is about; servers that were told of roots hear of it.',
  ],
  'system.woke': ['', 'The machine slept: waits are looked at again.'],
  'troupe.stop': ['', 'The same as `stop()`.'],
  'troupe.kill': ['', 'For a person who insists: everything is gone within 600 ms.'],
}; // prettier-ignore

/** The methods that most programs need, for the README. */
const essentials = [
  'ready',
  'tools',
  'callTool',
  'snapshot',
  'explain',
  'on',
  'addServer',
  'stop',
] as const satisfies readonly (keyof typeof methods)[];

export function methodTable(): string {
  return table(['method', 'what it does'], rowsOf(Object.values(methods)));
}

export function methodOverview(): string {
  return table(['method', 'what it does'], rowsOf(essentials.map((name) => methods[name])));
}

export function troupeEventTable(): string {
  const rows = Object.entries(events).map(([name, [fields, what]]) => [
    code(name),
    code(fields),
    what,
  ]);
  return table(['event', 'carries', 'when'], rows);
}

export function hostEventTable(): string {
  const rows = Object.entries(sends).map(([name, [fields, what]]) => [
    code(name),
    fields === '' ? '' : code(fields),
    what,
  ]);
  return table(['type', 'fields', 'what it does'], rows);
}

function rowsOf(entries: readonly (readonly [string, string])[]): string[][] {
  return entries.map(([signature, what]) => [code(signature), what]);
}
