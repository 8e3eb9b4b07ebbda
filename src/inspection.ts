/**
 * `mcp-troupe/inspection`: types for programs that show what a troupe does, such as an inspector, a
 * reader of journals or a view of `explain()` and `usage()`. Types only, nothing to run.
 */

export type {
  AdmissionRule,
  Attempt,
  Decision,
  Mover,
  QueuePlace,
  RunningTimer,
  StateName,
  WindowUse,
} from './domain/host/explanation.ts';
export type {
  ActorKey,
  ActorLife,
  ActorRecord,
  EventFacts,
  EventRecord,
  GapRecord,
  GoneRecord,
  IgnoredRecord,
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  JournalHead,
  LoginFacts,
  LoginRecord,
  MachineKey,
  PicturedActor,
  ReconciledRecord,
  StateRecord,
  StatusRecord,
  StepRecord,
  TimerEndRecord,
  TimerRecord,
} from './domain/host/inspection.ts';
export type { BudgetUse, MemoryUse, SessionCount, SuccessorStatus } from './domain/host/status.ts';
