/** The life of one session: idle, opening, open, closing, over. */

import { Client } from '@modelcontextprotocol/client';

import type { Failure } from '../src/domain/failure.ts';
import type { SessionFact, SessionInput } from '../src/domain/session.ts';
import type { ListedTool } from '../src/domain/tool.ts';
import { classifyFailure, type SessionPhase } from '../src/policies/classify-failure.ts';
import { printableLine, printableText } from '../src/policies/printable.ts';
import { createLiveness, type Liveness } from './http-liveness.ts';
import { HttpTransport } from './http-transport.ts';
import { createHandle } from './session-call.ts';
import type { Connection, ConnectionSetup, Seen } from './session-connection.ts';
import { chooseEra, type EraMemory } from './session-era.ts';
import { describeError, failureOf } from './session-failure.ts';
import { createCoalescer, listTools, noTimeoutMs } from './session-list.ts';
import { createListening, type Listening } from './session-listening.ts';
import type { SessionPorts, SessionTarget } from './session-ports.ts';
import { assertFolder, explainSpawn, type Resolved, resolveSpec } from './session-target.ts';
import { createThrottle } from './session-throttle.ts';
import { StdioTransport } from './stdio-transport.ts';

const clientInfo = { name: 'mcp-troupe', version: '0.1.0' };
const instructionsCharacters = 16_384;
const notifiedIntervalMs = 1_000;

export interface Session {
  open(): void;
  list(): void;
  close(): void;
  dispose(): void;
}

type Body<Fact> = Fact extends SessionFact ? Omit<Fact, 'session' | 'at'> : never;

export function createSession(
  input: SessionInput,
  ports: SessionPorts,
  memory: EraMemory,
  sendBack: (fact: SessionFact) => void,
): Session {
  const { actorId, server, generation, session } = input;
  const { clock } = ports;
  let state: 'idle' | 'opening' | 'open' | 'closing' | 'over' = 'idle';
  let phase: SessionPhase = 'connect';
  let isProbing = false;
  let isRegistered = false;
  let isPartial = false;
  let usedModernPrior = false;
  let target: SessionTarget;
  let secrets: readonly string[] = [];
  let tools: ReadonlyMap<string, ListedTool> = new Map();
  let client: Client | undefined;
  let connection: Connection | undefined;
  let liveness: Liveness | undefined;
  let listening: Listening | undefined;

  const send = (fact: Body<SessionFact>): void => {
    if (state !== 'over') sendBack({ ...fact, session, at: clock.now() } as SessionFact);
  };
  const notified = createThrottle(clock, notifiedIntervalMs, () => {
    if (state === 'open') send({ type: 'session.notified' });
  });
  const remark = (line: string): void => ports.log(server, printableLine(line, 2_000));

  /** Stops all that would act by itself; calls from now on are not sent. */
  const withdraw = (): void => {
    notified.stop();
    liveness?.stop();
    listening?.stop();
    if (isRegistered) ports.registry.closed(actorId, session);
    isRegistered = false;
  };

  const finish = (failure?: Failure): void => {
    if (state === 'closing' || state === 'over') return;
    state = 'closing';
    withdraw();
    void (async () => {
      await connection?.close();
      send({ type: 'session.closed', ...(failure !== undefined && { failure }) });
      state = 'over';
    })();
  };

  const whatFailed = (error: unknown): Failure => {
    const { status } = describeError(error, secrets);
    const headers = connection instanceof HttpTransport ? connection.refusal(status) : {};
    return failureOf(error, phase, secrets, { ...connection?.context(), ...headers });
  };

  const events: ConnectionSetup['events'] = {
    remark,
    ended(seen: Seen) {
      // Some servers leave when they are asked something before the handshake.
      if (isProbing && !ports.eras.get(generation)) memory.guessedLegacy.add(generation);
      finish(classifyFailure({ ...seen, message: inWords(seen), phase }));
    },
    sending(method) {
      if (state !== 'opening') return;
      isProbing = method === 'server/discover';
      if (method === 'initialize') phase = 'initialize';
      if (method === 'notifications/initialized') phase = 'initialized';
    },
  };

  const connect = (resolved: Resolved): Connection => {
    const setup: ConnectionSetup = {
      clock,
      secrets,
      events,
      policy: () => ports.specOf(input)?.policy ?? target.policy,
    };
    if (resolved.type === 'stdio') return new StdioTransport(resolved.launch, setup);
    return new HttpTransport(resolved.endpoint, setup, (seen) => liveness?.suspect(seen));
  };

  const opened = (live: Client, carrier: Connection): void => {
    const era = live.getProtocolEra() ?? 'legacy';
    const discover = live.getDiscoverResult();
    phase = 'ready';
    state = 'open';
    if (target.spec.era === 'auto') {
      ports.eras.set(
        generation,
        era === 'modern' && discover ? { kind: 'modern', discover } : { kind: 'legacy' },
      );
    }
    ports.registry.opened(
      actorId,
      createHandle({
        session,
        client: live,
        connection: carrier,
        secrets,
        isOpen: () => state === 'open',
        toolNamed: (name) => tools.get(name),
        onTrouble: troubled,
      }),
    );
    isRegistered = true;
    send({ type: 'session.opened', era, ...(carrier.pid !== undefined && { pid: carrier.pid }) });
    if (era === 'modern') listening = createListening(live, clock, () => notified.trigger());
  };

  const troubled = (failure: Failure, seen: Seen): void => {
    if (state !== 'open') return;
    if (failure.kind === 'sessionMissing' || seen.status === 401) finish(failure);
    else if (failure.kind === 'transport' || failure.kind === 'unavailable')
      liveness?.suspect(seen);
  };

  const openUp = async (): Promise<void> => {
    const found = ports.specOf(input);
    if (found === undefined) {
      finish({ kind: 'notStarted', message: 'The settings of this server are gone.' });
      return;
    }
    target = found;
    const resolved = resolveSpec(target.spec, ports.env);
    secrets = resolved.secrets;
    if (resolved.type === 'stdio') await assertFolder(resolved.launch.cwd);
    if (state !== 'opening') return;
    const { negotiation, prior } = chooseEra(
      target.spec.era,
      generation,
      resolved.type === 'stdio',
      ports.eras,
      memory,
    );
    usedModernPrior = prior?.kind === 'modern';
    const carrier = connect(resolved);
    const live = new Client(clientInfo, { versionNegotiation: negotiation, capabilities: {} });
    live.setNotificationHandler('notifications/tools/list_changed', () => notified.trigger());
    connection = carrier;
    client = live;
    if (carrier instanceof HttpTransport)
      liveness = createLiveness(live, clock, (error) => finish(whatFailed(error)));
    try {
      await live.connect(carrier.transport, {
        timeout: noTimeoutMs,
        ...(prior !== undefined && { prior }),
      });
    } catch (error) {
      throw resolved.type === 'stdio' ? explainSpawn(error, resolved.launch) : error;
    }
    // Closed meanwhile: whoever closed it takes care of what is left.
    if (state === 'opening') opened(live, carrier);
  };

  const list = createCoalescer(async () => {
    const live = client;
    if (state !== 'open' || live === undefined) return;
    try {
      const { tools: listed, gaps } = await listTools(live);
      if (state !== 'open') return;
      tools = new Map(listed.map((tool) => [tool.name, tool]));
      const instructions = live.getInstructions();
      ports.catalogs.put(input, listed, {
        ...(instructions !== undefined && {
          instructions: printableText(instructions, instructionsCharacters),
        }),
        ...(gaps.length > 0 && { partial: true }),
      });
      usedModernPrior = false;
      send({ type: 'session.listed', toolCount: listed.length });
      reportGaps(gaps);
    } catch (error) {
      if (state !== 'open') return;
      // The first request of a session that began with a stored verdict: perhaps it was the verdict.
      if (usedModernPrior) memory.doubted.add(generation);
      const failure = whatFailed(error);
      send({ type: 'session.listFailed', failure });
      troubled(failure, describeError(error, secrets));
    }
  });

  const reportGaps = (gaps: readonly string[]): void => {
    if (gaps.length > 0) remark(`listed its tools incompletely: ${gaps.slice(0, 5).join('; ')}`);
    if (gaps.length > 0 && !isPartial) send({ type: 'session.impaired', reason: 'partialCatalog' });
    if (gaps.length === 0 && isPartial)
      send({ type: 'session.recovered', reason: 'partialCatalog' });
    isPartial = gaps.length > 0;
  };

  return {
    open() {
      if (state !== 'idle') return;
      state = 'opening';
      openUp().catch((error: unknown) => {
        if (state === 'opening' || state === 'open') finish(whatFailed(error));
      });
    },
    list,
    close: () => finish(),
    dispose() {
      if (state === 'over') return;
      state = 'over';
      withdraw();
      connection?.dispose();
    },
  };
}

/** What a process wrote last says more about its end than the exit code does. */
function inWords(seen: Seen): string {
  const last = seen.stderrTail?.at(-1);
  if (last === undefined || (seen.exitCode === undefined && seen.signal === undefined))
    return seen.message;
  return `${seen.message} It last wrote: ${last}`;
}
