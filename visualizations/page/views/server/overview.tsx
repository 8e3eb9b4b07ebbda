/** A server's state, the reason for it, and its last failure. */

import type { Explanation } from '../../../../src/domain/host/explanation.ts';
import type { LastError, ServerStatus } from '../../../../src/domain/host/status.ts';
import { isOnItsWay } from '../../../../src/domain/server-state.ts';
import { memoryUseText } from '../../../../src/policies/text/memory-text.ts';
import { spoken } from '../../model/announcements.ts';
import { isProblem } from '../../model/cause.ts';
import { duration } from '../../model/durations.ts';
import { shownLine } from '../../model/shown-text.ts';
import { command } from '../../state/api.ts';
import { canAct, usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { type Usage, useUsage } from '../../state/use-usage.ts';
import { CopyButton } from '../controls.tsx';
import { Countdown } from '../fleet/tile.tsx';
import { ServerLogin } from '../login/state.tsx';

export function Overview({ name }: { name: string }) {
  const status = usePage((state) => (state.revision, state.world.servers.get(name)));
  const isNow = usePage(canAct);
  const { answer } = useAsked(isNow ? `explain ${name}` : undefined, status, () =>
    command<Explanation>('explain', { server: name }),
  );
  const usage = useUsage(true, name);
  if (status === undefined) return null;
  // The failure comes first while it explains the state, and last once it is past.
  const isFirst = isProblem(status) || isOnItsWay(status.state);
  const { lastError } = status;
  const failure =
    lastError === undefined ? null : <Failure error={lastError} at={answer?.lastFailure?.at} />;
  return (
    <>
      {isFirst ? failure : null}
      <NextStep step={status.action} />
      <ServerLogin server={name} />
      {isFirst ? <Stderr error={lastError} /> : null}
      {answer === undefined ? null : <Why explanation={answer} />}
      {isFirst ? null : failure}
      {isFirst ? null : <Stderr error={lastError} />}
      <Facts status={status} usage={usage} />
    </>
  );
}

function NextStep({ step }: { step: string | undefined }) {
  if (step === undefined) return null;
  return (
    <p class="next-step">
      <span>Next step</span>
      <code>{shownLine(step, 500)}</code>
      <CopyButton text={step} label="Copy" />
    </p>
  );
}

function Facts({ status, usage }: { status: ServerStatus; usage: Usage }) {
  const { calls, memory, isRecording } = usage;
  const use = memory?.get(status.name);
  const { source } = status;
  const place =
    source.file === undefined
      ? source.key
      : `${source.file}${source.line === undefined ? '' : `:${source.line}`}`;
  return (
    <dl class="facts">
      <Fact name="Circuit">{spoken(status.circuit)}</Fact>
      <Fact name="Catalog">{`${status.catalog}, ${status.tools === 1 ? '1 tool' : `${status.tools} tools`}`}</Fact>
      {(status.toolNotes ?? []).map((note) => (
        <div class="fact-wide" key={note}>
          <dt>Tools</dt>
          <dd>{note}</dd>
        </div>
      ))}
      <Fact name="Transport">
        {status.era === undefined
          ? status.transport
          : `${status.transport}, ${status.era} protocol`}
      </Fact>
      {status.pid === undefined ? null : <Fact name="Process">{String(status.pid)}</Fact>}
      {status.attempt === undefined ? null : <Fact name="Attempt">{String(status.attempt)}</Fact>}
      <Fact name="Restarts">{String(status.restarts)}</Fact>
      <Fact name="Calls">{String(calls.get(status.name) ?? 0)}</Fact>
      {status.pid === undefined || (use === undefined && !isRecording) ? null : (
        <Fact name="Memory">{use === undefined ? 'not recorded' : memoryUseText(use)}</Fact>
      )}
      {status.nextAttemptAt === undefined ? null : (
        <div>
          <dt>Next try in</dt>
          <dd>
            <Countdown to={status.nextAttemptAt} />
          </dd>
        </div>
      )}
      <Fact name="Generation">{status.generation.slice(0, 12)}</Fact>
      <div class="fact-wide">
        <dt>Declared in</dt>
        <dd class="mono place">
          <span>{shownLine(place)}</span>
          <CopyButton text={place} label="Copy" />
        </dd>
      </div>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{shownLine(children)}</dd>
    </div>
  );
}

function Failure({ error, at }: { error: LastError; at: string | undefined }) {
  const { code, kind, message, exitCode, signal } = error;
  const end = [
    exitCode === undefined ? undefined : `exit code ${exitCode}`,
    signal === undefined ? undefined : `ended by ${signal}`,
  ].filter((part) => part !== undefined);
  return (
    <section class="failure" aria-label="Last failure">
      <h3>
        Last failure{' '}
        <span class="soft">{at === undefined ? '' : new Date(at).toLocaleTimeString()}</span>
      </h3>
      <p class="failure-message">{shownLine(message, 600)}</p>
      <p class="failure-facts">
        <code>{shownLine(code)}</code>
        <span>{spoken(kind)}</span>
        {end.map((part) => (
          <span key={part}>{shownLine(part)}</span>
        ))}
      </p>
    </section>
  );
}

function Stderr({ error }: { error: LastError | undefined }) {
  const lines = error?.stderrTail ?? [];
  if (lines.length === 0) return null;
  return (
    <section class="failure">
      <h3>It wrote last</h3>
      <pre class="stderr" tabIndex={0} aria-label="Last lines of its stderr">
        {lines.map((line) => `${shownLine(line, 2_000)}\n`)}
      </pre>
    </section>
  );
}

/** The deciding transition, timers, and events that would change the state. */
function Why({ explanation }: { explanation: Explanation }) {
  const { decision, timers, movedBy, admission, budgets, queue, sharedWith } = explanation;
  return (
    <section class="why">
      <h3>Why this state</h3>
      <ul class="lines">
        <li>
          {admission.verdict === 'admitted'
            ? 'May run'
            : `May not run: ${spoken(admission.verdict)}`}
        </li>
        {queue === undefined ? null : (
          <li>
            Place {queue.position} of {queue.waiting} in the queue for {queue.permits} {queue.pool}{' '}
            permits
          </li>
        )}
        {sharedWith === undefined ? null : (
          <li>Its process is also used by {sharedWith.join(', ')}</li>
        )}
        {budgets === undefined ? null : (
          <li class="number">
            Attempts used: {budgets.attempts.used} of {budgets.attempts.max ?? 'any number'}
            {budgets.sameExits === undefined || budgets.sameExits.used < 2
              ? null
              : `; failed the same way: ${budgets.sameExits.used} of ${budgets.sameExits.max} times`}
          </li>
        )}
        {timers.map(({ name, dueAt, totalMs, to }) => (
          <li key={name}>
            {to === undefined ? spoken(name) : `Will be ${spoken(to.state)}`} in{' '}
            <Countdown to={dueAt} /> <span class="soft">of {duration(totalMs)}</span>
          </li>
        ))}
      </ul>
      <details>
        <summary>Details</summary>
        <ul class="lines">
          {decision === undefined ? null : (
            <li>
              <code>{decision.guard}</code> decided, in <code>{decision.table}</code>
            </li>
          )}
          <li>
            Admission rule: <code>{admission.rule}</code>
          </li>
          {timers.map(({ name }) => (
            <li key={name}>
              Timer: <code>{name}</code>
            </li>
          ))}
        </ul>
      </details>
      {movedBy.length === 0 ? null : (
        <details>
          <summary>What would change it</summary>
          <ul class="lines">
            {movedBy.map(({ event, sentBy, to, failure }) => (
              <li key={`${event} ${sentBy} ${failure ?? ''}`}>
                <code>{event}</code> <span class="soft">by the {sentBy}</span> → {spoken(to.state)}
                {to.reason === undefined ? '' : `, ${spoken(to.reason)}`}
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
