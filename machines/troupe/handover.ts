/**
 * The actors of one server: mostly one. While its next generation takes over without
 * a gap there are two, first with a successor beside it, then with the predecessor that
 * finishes its calls; never more, because their ids are used again and again.
 */

import type { LiveServer, Successor } from '../../src/domain/plan.ts';

/** All that live under one name. */
export function actorsOf(server: LiveServer): readonly LiveServer[] {
  const { successor, predecessor } = server;
  return [server, successor, predecessor].filter((it) => it !== undefined);
}

/** Whom a person means who names the server: the one that settings ask for. */
export function meantBy(server: LiveServer): LiveServer {
  return server.successor === undefined || server.successor.leaving ? server : server.successor;
}

// A chart remembers every child id it ever saw. Two of them let a successor start
// beside the one that leaves.
export function successorIdOf({ actorId }: LiveServer): string {
  const [name, suffix] = [actorId.slice(0, -1), actorId.slice(-1)];
  return `${name}${suffix === '0' ? '1' : '0'}`;
}

/** The successor is the server from now on, and the other one its predecessor. */
export function takenOver(server: LiveServer, after: Successor): LiveServer {
  const { successor: _, ...before } = server;
  const { hasGivenUp: _gaveUp, ...present } = after;
  return { ...present, predecessor: { ...before, leaving: true } };
}

export function withGivenUp(server: LiveServer, actorId: string): LiveServer {
  const { successor } = server;
  if (successor?.actorId !== actorId) return server;
  return { ...server, successor: { ...successor, hasGivenUp: true } };
}

export function allLeaving(server: LiveServer): LiveServer {
  const { successor } = server;
  if (successor === undefined) return { ...server, leaving: true };
  return { ...server, leaving: true, successor: { ...successor, leaving: true } };
}

/** What is left of a server when one of its actors has ended; undefined = nothing. */
export function without(server: LiveServer, actorId: string): LiveServer | undefined {
  const { successor, predecessor, ...rest } = server;
  if (rest.actorId !== actorId) return rest;
  if (successor === undefined) return predecessor;
  const { hasGivenUp: _, ...next } = successor;
  return next;
}

/** Names the timer of a successor that must not take for ever. */
export function latenessOf(actorId: string): string {
  return `late:${actorId}`;
}
