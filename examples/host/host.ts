// A chat host without a model: you are the model. It applies its own settings, and asks
// before it runs servers of a folder.
//
//   npx tsx examples/host/host.ts [FOLDER]       FOLDER may hold a `.mcp.json`
import { createInterface } from 'node:readline';
import { type ApprovalRequest, createTroupe, type TroupeError } from 'mcp-troupe';

const help = `tools · call TOOL {"key": "value"} · add NAME COMMAND ARG… · remove NAME
yes · no · start NAME · stop NAME · restart NAME · quit`;

// Server text is printed to a terminal, so control characters are replaced.
const say = (text: string): void => console.log(text.replaceAll(/[^\P{C}\n]/gu, '?'));

// Everything that a host shows arrives as an event.
const mine = new Map<string, object>();
const questions: ApprovalRequest[] = [];
const troupe = createTroupe({
  projectRoot: process.argv[2] ?? '.',
  sources: [{ file: '.mcp.json', scope: 'project' }],
});
troupe.on('status.changed', ({ status: { name, state, reason, action, lastError } }) =>
  say([`[${name}]`, state, reason, lastError?.message, action].filter(Boolean).join(' ')),
);
troupe.on('tools.changed', ({ servers }) => say(`[tools] of ${servers.join(', ')} changed`));
troupe.on('settings.invalid', ({ problems }) => problems.forEach((one) => say(one.message)));
troupe.on('approval.needed', ({ server }) => {
  const asked = troupe.approvals().find((request) => request.server === server);
  if (asked === undefined) return;
  questions.push(asked);
  const { command = asked.url, args = [], executable, warnings = [] } = asked;
  say(`${server} wants to run ${JSON.stringify({ command, args, executable })}`);
  say([...warnings, `May ${server} run? yes or no`].join('\n'));
});

// The host changes nothing itself: it sends events.
function decide(type: 'approval.grant' | 'approval.reject'): void {
  const asked = questions.shift();
  // The decision covers what was shown; an edit invalidates it.
  if (asked) troupe.send({ type, server: asked.server, fingerprint: asked.fingerprint });
  else say('Nothing was asked.');
}

async function call(tool: string, json: string): Promise<void> {
  const { result } = await troupe.callTool(tool, JSON.parse(json || '{}'), { timeoutMs: 20_000 });
  for (const { type, text } of result.content) {
    say(typeof text === 'string' ? text : `(${JSON.stringify(type)})`);
  }
}

async function turn([verb = '', name = '', ...rest]: readonly string[]): Promise<void> {
  if (verb === 'tools') for (const tool of troupe.tools()) say(`${tool.name} (${tool.catalog})`);
  else if (verb === 'call') await call(name, rest.join(' '));
  else if (verb === 'yes') decide('approval.grant');
  else if (verb === 'no') decide('approval.reject');
  else if (verb === 'start' || verb === 'stop' || verb === 'restart')
    troupe.send({ type: `server.${verb}`, server: name });
  else if (verb === 'add' || verb === 'remove') {
    if (verb === 'add') mine.set(name, { command: rest[0], args: rest.slice(1) });
    else mine.delete(name);
    // Always send all of them: the troupe applies only the difference.
    troupe.send({ type: 'settings.changed', settings: { mcpServers: Object.fromEntries(mine) } });
  } else if (verb !== '') say(help);
}

await troupe.ready();
say(help);
const lines = createInterface({ input: process.stdin, output: process.stdout });
for await (const line of lines) {
  if (line.trim() === 'quit') break;
  await turn(line.trim().split(/\s+/)).catch((error: TroupeError) =>
    say(`${error.code ?? error.name} (${error.outcome ?? 'not sent'}): ${error.message}`),
  );
}
lines.close();
await troupe.stop();
