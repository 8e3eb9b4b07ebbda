/**
 * The session actor: one connection to one server, from open to closed.
 *
 * Input: who the session belongs to. Accepts `session.open`, `session.list`,
 * `session.probe`, `session.close`, `session.kill` and `io.dispose`; sends the facts of `SessionFact`. It opens
 * nothing until told, decides nothing, and reports exactly one
 * `session.closed`, last and after its process group is gone, unless it was
 * disposed of or stopped: then it sends nothing more, and leaves nothing behind
 * either. It never throws.
 */

import { fromCallback } from 'xstate';

import type { SessionCommand, SessionFact, SessionInput } from '../../src/domain/session.ts';
import { Session } from './life.ts';
import type { LoadSpeech } from './opening.ts';
import type { SessionPorts } from './ports.ts';

export type { LoadSpeech } from './opening.ts';
export type { EraVerdict, SessionPorts } from './ports.ts';

const loadSpeech: LoadSpeech = () => import('./client.ts');

/** A test decides when what speaks MCP is there. */
export function createSessionLogic(ports: SessionPorts, load: LoadSpeech = loadSpeech) {
  return fromCallback<SessionCommand, SessionInput>(({ input, sendBack, receive }) => {
    const session = new Session(input, ports, load, (fact: SessionFact) => sendBack(fact));
    receive((command) => {
      switch (command.type) {
        case 'session.open':
          return session.open();
        case 'session.list':
          return session.list();
        case 'session.probe':
          return session.probe();
        case 'session.close':
          return session.close();
        case 'session.kill':
          return session.kill();
        case 'io.dispose':
          return session.dispose();
      }
    });
    return () => session.dispose();
  });
}
