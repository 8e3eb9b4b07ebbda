/**
 * Policies in words. Values are asked of the presets, and what has an effect is
 * asked of the code; only the meanings are written here, one for every field.
 */

import type { z } from 'zod';
import { policySchemas } from '../../src/config/policy-schema.ts';
import { isRestartRequired } from '../../src/config/restart-required.ts';
import {
  type PolicyField,
  type PolicyGroup,
  presetNames,
  type ServerPolicy,
} from '../../src/domain/policy.ts';
import { isTroupeWide, takesEffect } from '../../src/policies/presets/policy-reach.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { code, table } from './markdown.ts';

/** What each field means, in Markdown. */
export const fieldWords: Readonly<Record<PolicyField, string>> = {
  'naming.template':
    "Form of a tool's name, with `{server}` and `{tool}`. A server whose tools are not known yet is found by a name only where `{server}` comes first.",
  'naming.case': 'Whether names are put in small letters.',
  'naming.maxLength': 'Longest name, in characters.',
  'naming.overflow':
    'What becomes of a longer one: `hash` at its end; `middle`: `___` in its middle; `error`: the tool is left out.',
  'naming.stripServerPrefix': 'Whether a tool loses a beginning that repeats its server.',
  'naming.collision':
    'Who keeps a name that two tools want. `originOrder`: the first by server and tool, the other gets a hash; `suffix`: both get a hash; `error`: neither is shown.',
  'naming.aliases': 'Further forms that a call may use, as long as only one tool is meant.',
  'startup.mode':
    '`eager`: at once; `background`: at once, and `ready()` does not wait for it; `lazy`: with the first demand. The key `startup` sets it.',
  'startup.gateMs': 'How long `ready()` waits for servers. `mcp.startupGateMs` wins.',
  'startup.withoutCache':
    'Whether the gate also waits for servers whose tools are not known from before.',
  'startup.required': 'Whether `required()` insists on the server. The key `required` sets it.',
  'startup.timeoutMs': 'How long `required()` waits for it. The key `startupTimeoutMs` sets it.',
  'startup.maxAttempts':
    'Tries of a start, the first included; null = no limit. The key `maxAttempts` sets it.',
  'startup.retryOn':
    'The kinds of failure after which a start is tried again ([codes.md](codes.md)).',
  'startup.busyBackoff':
    'The waits of a start that was answered with HTTP 408, 429, 500, 502, 503, 504 or 529; these have no limit of tries. `addedJitter`: up to this fraction is added at random. Null = treated like other failures.',
  'startup.afterGiveUp': 'After the last try of a start, as in `restart.afterGiveUp`.',
  'connect.localTimeoutMs':
    'From the start permit to a finished handshake, of a local server; null = none. The key `connectTimeoutMs` sets both.',
  'connect.remoteTimeoutMs': 'The same of a remote server.',
  'connect.listTimeoutMs': 'For the whole tool list, all pages together.',
  'connect.queueTimeoutMs': 'Longest wait for a start permit; then it is tried again later.',
  'connect.missingVariable':
    'What a reference `${VAR}` to a variable that is not set, without a default, does: `fail` keeps the server from starting and says which one; `keep` leaves the reference as it is written and notes it in `logs`.',
  'connect.localSlots':
    'How many local servers may be starting at once; `auto` = eight for each processor core, null = no limit. `mcp.slots` wins.',
  'connect.remoteSlots': 'The same of remote servers.',
  'restart.on':
    'When a lost session is opened again. `auto`: local after a failure, remote always; `remote`: remote always, local never; `never`: a failed start is not repeated either. The key `restart` sets it.',
  'restart.first': 'Whether the first attempt after a loss waits. It counts in any case.',
  'restart.delays': 'The waits before the attempts: a list, whose last repeats, or one that grows.',
  'restart.jitter':
    '`none`; `full`: anything between `floorMs` and the wait; a fraction: so much more or less.',
  'restart.maxAttempts': 'Attempts of one outage; null = no limit. The key `maxAttempts` sets it.',
  'restart.budgetReset': 'When a server that is ready again has all its attempts back.',
  'restart.afterGiveUp':
    '`stop`: it has failed; `untilDemanded`: it sleeps until a call needs it; or, for remote servers, quiet attempts at doubling intervals.',
  'restart.retryAfterMinMs': "Least wait that a peer's own wish (`Retry-After`) leads to.",
  'restart.retryAfterMaxMs': 'Longest such wait.',
  'storm.crashLoop':
    'So many crashes of a ready server within the window suspend it, or fail it; null = off.',
  'storm.reconnectStorm':
    'The same for lost sessions, whatever the cause, and for those that the breaker has exchanged.',
  'breaker.threshold': 'So many failed calls in a row trip the breaker; null = off.',
  'breaker.counts':
    'Which failures count: all that speak against the server, or broken connections only, which no answer is.',
  'breaker.action': '`failFast` opens the circuit; `reconnect` exchanges the session.',
  'breaker.cooldownMs': 'Wait before an open circuit is probed; doubles with each failed probe.',
  'breaker.maxCooldownMs': 'Longest such wait.',
  'breaker.probeTimeoutMs': 'For the probe.',
  'health.mode':
    '`off` and `status`: it is asked nothing, because a process that ends and a stream that breaks are noticed at once; `ping`: it is asked every so often whether it is alive. After a wake-up of the machine every ready server is asked once, whatever the mode.',
  'health.everyMs': 'Time between two looks.',
  'health.failures':
    'Failed looks in a row that end the session, unless a call is at work; the first makes the server `degraded`.',
  'health.treatMethodNotFoundAsAlive': 'Whether "no such method" is an answer like any other.',
  'idle.stopMs':
    'Ready without a call for this long, it rests until the next one; null = never. The key `idleStopMs` sets it.',
  'idle.drainMs': 'How long a shared server outlives its last user.',
  'idle.maxIdleMs': 'Longest such time, however often users come and go.',
  'catalog.whileDown': 'What is shown of a server that is lost for the moment.',
  'catalog.cache': 'Where tool lists are kept once their session is over.',
  'catalog.ttlMs': 'How long a kept list counts.',
  'catalog.maxEntries': 'How many are kept.',
  'catalog.descriptionMaxLength':
    "Characters of a tool's description, and of each in its schemas, that are shown; 0 = none.",
  'catalog.pinTools': 'What becomes of a tool whose definition changed since it was approved.',
  'call.timeoutMs': 'Deadline of one call, waiting included. The key `timeoutMs` sets it.',
  'call.idleTimeoutMs': 'Longest silence of a running call.',
  'call.progressResets': 'Whether progress begins the silence anew, and moves the deadline.',
  'call.maxTimeoutMs': 'How far progress moves a deadline that the caller did not give.',
  'call.backgroundAfterMs':
    'After so long at work a call settles with a receipt, and is collected later.',
  'call.replay':
    'Which lost calls are sent again. `once`: also those that may have run, which then may run twice.',
  'call.questionTimeoutMs': 'How long a question of the server waits for its answer.',
  'call.maxQuestions': 'Questions that may wait at once; further ones are cancelled.',
  'result.maxLength':
    'Characters of all texts, data and names of an answer; more fails that call with `RESULT_TOO_LARGE`.',
  'result.maxDepth': 'Levels of an answer; more fails that call with `RESULT_TOO_LARGE`.',
  'result.textMaxLength':
    'Characters of all texts of an answer that are shown, with a note where they were cut; null = all.',
  'result.cutText':
    '`file`: a text that was cut is kept whole in a file, where there is a state folder ([library.md](library.md#what-becomes-of-an-answer)).',
  'result.imageMaxPixels':
    'Longest side of an image; a larger one is made smaller where the package `sharp` is installed. Null = no limit.',
  'result.imageMaxBytes':
    'Bytes of an image; one that cannot be made to fit gives way to a note. Null = no limit.',
  'result.binaries':
    '`file`: sounds and other binary data go into files, where there is a state folder, and leave a note.',
  'result.outputSchema':
    '`check`: structured content that does not fit the output schema of its tool fails the call with `BAD_RESPONSE`.',
  'result.authChallenge':
    '`refuse`: a failed answer that demands a log-in (`_meta["mcp/www_authenticate"]`) fails the call with `AUTH_REQUIRED`; `keep`: the caller gets the answer.',
  'result.filesMaxCount':
    'Files of answers that are kept in the state folder; with one more the oldest goes.',
  'result.filesMaxBytes':
    'Bytes of all of them together; an answer that is larger by itself is not kept.',
  'result.filesMaxAgeMs': 'How long one is kept; the old ones go with the next new one.',
  'classify.rules':
    'Kinds of failure, asked before the built-in table; see [below](#kinds-of-failure).',
  'auth.onMissing': 'What a server does that wants a log-in.',
  'auth.parkMs': 'How long nobody is asked again.',
  'auth.background': 'Whether an attempt that nobody waits for may open a browser.',
  'auth.refresh': 'Whether one renewal of a token at a time is enough for all.',
  'close.steps':
    'The steps towards the end of a local server, each with its grace, until its process group is empty; SIGKILL ends whoever outlives them.',
  'close.totalMs': 'Longest wait for the end of a session; then it is ended by force.',
  'close.scope': 'Who is sent the signals.',
  'admission.maxServers': 'How many servers may run at once.',
  'admission.budget': 'What becomes of more.',
  'approval.gatedScopes': 'Scopes whose servers wait for approval.',
  'approval.perCall': 'Whether every call is asked for as well.',
  'reload.mode': 'What an edit of the settings touches.',
  'reload.debounceMs': 'Silence after the last write of a file before it is read.',
}; // prettier-ignore

interface Field {
  readonly name: string;
  readonly meaning: string;
  readonly group: PolicyGroup;
  readonly field: string;
}

const fields: readonly Field[] = Object.entries(fieldWords).map(([name, meaning]) => {
  const [group = '', field = ''] = name.split('.');
  return { name, meaning, group: group as PolicyGroup, field };
});

/** Every preset against every field that has an effect and differs somewhere. */
export function presetTable(): string {
  const telling = fields.filter(
    (it) => takesEffect(it.group, it.field) && new Set(valuesOf(it)).size > 1,
  );
  return table(
    ['field', ...presetNames.map(code)],
    telling.map((it) => [code(it.name), ...differences(valuesOf(it))]),
  );
}

/** Every field: its default, whether it works, what it means. */
export function fieldTable(): string {
  return table(
    ['field', 'default', 'in force', 'for', 'means'],
    fields.map(({ name, group, field, meaning }) => [
      code(name),
      shortened(valueOf(presets.default, group, field)),
      reachOf(group, field),
      isTroupeWide(group, field) ? 'all' : 'each',
      meaning,
    ]),
  );
}

function reachOf(group: PolicyGroup, field: string): string {
  if (!takesEffect(group, field)) return 'not yet';
  const schema = new Map<string, z.ZodType>(Object.entries(policySchemas[group])).get(field);
  return schema !== undefined && isRestartRequired(schema) ? 'from the next start' : 'yes';
}

function valuesOf({ group, field }: Field): readonly string[] {
  return presetNames.map((name) => valueOf(presets[name], group, field));
}

/** What equals the default is not said again. */
function differences([first = '', ...rest]: readonly string[]): readonly string[] {
  return [shortened(first), ...rest.map((value) => (value === first ? '=' : shortened(value)))];
}

function valueOf(policy: ServerPolicy, group: PolicyGroup, field: string): string {
  return JSON.stringify(new Map<string, unknown>(Object.entries(policy[group])).get(field));
}

/** As one would write it, with room to break a line. */
function shortened(value: string): string {
  return code(value.replaceAll(/([,:])(?=["{[\w])/g, '$1 '));
}
