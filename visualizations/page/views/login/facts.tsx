/** What is known about a login: its issuer, scopes, expiry and last failure. Never a token. */

import type { PicturedActor } from '../../../../src/domain/host/inspection.ts';
import { spoken } from '../../model/announcements.ts';
import { age } from '../../model/durations.ts';
import {
  type LoginFailure as Failure,
  helpFor,
  type LoginContext,
  loginContextOf,
} from '../../model/logins.ts';
import { shownLine } from '../../model/shown-text.ts';
import { ask } from '../../state/api.ts';
import { momentOf, now, useTicks } from '../../state/clock.ts';
import { usePage } from '../../state/store.ts';
import { useAsked } from '../../state/use-asked.ts';
import { Countdown } from '../fleet/tile.tsx';

/** The recorded context of a login at the shown moment. */
export function useLoginContext(actor: PicturedActor | undefined): LoginContext | undefined {
  const at = usePage((state) => state.route.at);
  const key = actor?.actor;
  const question = key === undefined ? undefined : `context ${key} ${at ?? 'now'}`;
  const { answer } = useAsked(question, actor, () =>
    ask<{ context: unknown }>(
      `api/actors/${encodeURIComponent(key ?? '')}/context${at === undefined ? '' : `?at=${at}`}`,
    ),
  );
  return loginContextOf(answer?.context);
}

export function LoginFacts({ actor, context }: { actor: PicturedActor; context: LoginContext }) {
  const { token, wanted, attempt, needsUser } = context;
  const renewal = actor.timers.find(({ delay }) => delay === 'renewal' || delay === 'retryDelay');
  return (
    <dl class="facts">
      <Fact name="Servers at">{actor.login?.origin ?? 'unknown'}</Fact>
      <Fact name="Account">{actor.login?.account ?? 'the only one'}</Fact>
      <Fact name="Issuer" isWide>
        {token?.issuer ?? 'not known yet'}
      </Fact>
      {token === null ? null : (
        <>
          <Fact name="Granted scopes" isWide>
            {scopesIn(token.scopes)}
          </Fact>
          <div>
            <dt>{token.isRefreshable ? 'Token expires, renewable' : 'Token expires'}</dt>
            <dd>
              <Expiry atMs={token.expiresAtMs} />
            </dd>
          </div>
          <Fact name="Generation">{String(token.generation)}</Fact>
        </>
      )}
      {wanted.length === 0 ? null : (
        <Fact name="The next login asks for" isWide>
          {scopesIn(wanted)}
        </Fact>
      )}
      {needsUser ? null : <Fact name="Obtained">without a user</Fact>}
      {attempt === 0 ? null : <Fact name="Failed tries">{String(attempt)}</Fact>}
      {renewal === undefined ? null : (
        <div>
          <dt>{renewal.delay === 'renewal' ? 'Renewed in' : 'Next try in'}</dt>
          <dd>
            <TimerLeft due={renewal.armedAt + renewal.ms} />
          </dd>
        </div>
      )}
    </dl>
  );
}

function scopesIn(scopes: readonly string[]): string {
  return scopes.length === 0 ? 'none named' : scopes.join(' ');
}

interface FactProps {
  readonly name: string;
  readonly isWide?: boolean;
  readonly children: string;
}

function Fact({ name, isWide = false, children }: FactProps) {
  return (
    <div class={isWide ? 'fact-wide' : undefined}>
      <dt>{name}</dt>
      <dd>{shownLine(children, 500)}</dd>
    </div>
  );
}

/** Wall clock in milliseconds, as the moment and as the time until then. */
function Expiry({ atMs }: { atMs: number | null }) {
  useTicks(atMs !== null);
  if (atMs === null) return <>not named by the issuer</>;
  const at = new Date(atMs);
  const left = momentOf(at.toISOString()) - now();
  return (
    <>
      {left > 0 ? (
        <>
          in <Countdown to={at.toISOString()} />
        </>
      ) : (
        <b>{age(-left) === 'now' ? 'now' : `${age(-left)} ago`}</b>
      )}
      <time class="soft fact-moment" dateTime={at.toISOString()}>
        {at.toLocaleString()}
      </time>
    </>
  );
}

/** @param due - in the journal's milliseconds */
export function TimerLeft({ due }: { due: number }) {
  const startedAt = usePage((state) => Date.parse(state.session?.startedAt ?? ''));
  if (Number.isNaN(startedAt)) return null;
  return <Countdown to={new Date(startedAt + due).toISOString()} />;
}

/** Why the last login or renewal failed, and what helps. */
export function LoginFailure({ failure }: { failure: Failure | null | undefined }) {
  if (failure === null || failure === undefined) return null;
  const help = helpFor(failure.kind);
  return (
    <div class="failure login-failure" role="group" aria-label="Why the login failed">
      <p class="failure-message">{shownLine(failure.message, 600)}</p>
      <p class="failure-facts">
        <code>{shownLine(failure.kind, 40)}</code>
        <span>{help ?? spoken(shownLine(failure.kind, 40))}</span>
      </p>
    </div>
  );
}
