/**
 * Decides when a stored file is read and when it is written.
 *
 * One thing happens at a time, so an older reading never replaces a newer one. Any number of
 * requests during a reading or a write cause exactly one more of each kind, the write first. A damaged file is set aside by a
 * write, because only a write holds the lock. The chart knows what was found, never the content.
 *
 * ```text
 * [*] -> absent
 * recordFile -- file.read | file.write --> (stays)
 * absent -- always [isWriteDue] --> writing
 * absent -- always [isReadDue] --> reading
 * reading invokes read
 * reading -- done read [isDamaged] --> writing
 * reading -- done read [isKept] --> kept
 * reading -- done read [isAbsent] --> absent
 * reading -- done read --> refused
 * reading -- error read --> refused
 * kept -- always [isWriteDue] --> writing
 * kept -- always [isReadDue] --> reading
 * writing invokes write
 * writing -- done write [isKept] --> kept
 * writing -- done write [isAbsent] --> absent
 * writing -- done write --> refused
 * writing -- error write --> refused
 * refused -- always [isWriteDue] --> writing
 * refused -- always [isReadDue] --> reading
 * ```
 */

import { assign, fromPromise, setup } from 'xstate';
import { notProvided } from './not-provided.ts';

/** What a reading or a write found in the file's place, or left there. */
export type FoundFile = 'absent' | 'kept' | 'damaged' | 'refused' | 'failed';

export interface RecordFileContext {
  readonly isReadDue: boolean;
  readonly isWriteDue: boolean;
}

/** The file may have changed, or its content is needed; a change of it waits to be written. */
export type RecordFileEvent = { readonly type: 'file.read' | 'file.write' };

const recordFileSetup = setup({
  types: {
    context: {} as RecordFileContext,
    events: {} as RecordFileEvent,
    tags: {} as 'settled',
  },
  actors: {
    /** Reads the file without its lock. */
    read: fromPromise<FoundFile>(notProvided('read', 'recordFile')),
    /** With the lock: reads the file, sets a damaged one aside, and writes what waits. */
    write: fromPromise<FoundFile>(notProvided('write', 'recordFile')),
  },
  actions: {
    /** Notes that the file must be read. */
    requestRead: assign({ isReadDue: true }),
    /** Notes that changes wait to be written. */
    requestWrite: assign({ isWriteDue: true }),
    /** Notes that the reading covers all requests so far. */
    beginRead: assign({ isReadDue: false }),
    /** Notes that the write covers all requests and changes so far. */
    beginWrite: assign({ isReadDue: false, isWriteDue: false }),
  },
  guards: {
    /** Whether the file must be read. */
    isReadDue: ({ context }) => context.isReadDue,
    /** Whether changes wait to be written. */
    isWriteDue: ({ context }) => context.isWriteDue,
    /** Whether the file is damaged. */
    isDamaged: (_, found: FoundFile) => found === 'damaged',
    /** Whether the file's content is known. */
    isKept: (_, found: FoundFile) => found === 'kept',
    /** Whether there is no file. */
    isAbsent: (_, found: FoundFile) => found === 'absent',
  },
});

const ofFile = ({ event }: { readonly event: { readonly output: FoundFile } }) => event.output;
const settled = {
  tags: 'settled',
  always: [
    // First, because a write reads as well: otherwise readings could keep a change waiting for ever.
    { guard: 'isWriteDue', target: 'writing' },
    { guard: 'isReadDue', target: 'reading' },
  ],
} as const;

/** A stored file: what was read of it, and what is written. */
export const recordFileMachine = recordFileSetup.createMachine({
  // A transition loop is a bug: a broken actor is better than a frozen host.
  options: { maxIterations: 1_000 },
  id: 'recordFile',
  context: { isReadDue: false, isWriteDue: false },
  initial: 'absent',
  on: { 'file.read': { actions: 'requestRead' }, 'file.write': { actions: 'requestWrite' } },
  states: {
    // There is no file, or it has not been read yet.
    absent: settled,
    reading: {
      entry: 'beginRead',
      invoke: {
        src: 'read',
        id: 'read',
        onDone: [
          { guard: { type: 'isDamaged', params: ofFile }, target: 'writing' },
          { guard: { type: 'isKept', params: ofFile }, target: 'kept' },
          { guard: { type: 'isAbsent', params: ofFile }, target: 'absent' },
          { target: 'refused' },
        ],
        onError: 'refused',
      },
    },
    // The file holds what was last read or written.
    kept: settled,
    writing: {
      entry: 'beginWrite',
      invoke: {
        src: 'write',
        id: 'write',
        onDone: [
          { guard: { type: 'isKept', params: ofFile }, target: 'kept' },
          { guard: { type: 'isAbsent', params: ofFile }, target: 'absent' },
          { target: 'refused' },
        ],
        onError: 'refused',
      },
    },
    // The file cannot be trusted or written, and is left as it is; a later request tries again.
    refused: settled,
  },
});
