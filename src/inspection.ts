/**
 * `mcp-troupe/inspection`: types, and lists of states and reasons, for programs that show what a troupe
 * does, such as an inspector, a reader of journals, a dialog for approvals or a view of `explain()` and
 * `usage()`.
 */

export type {
  ExposedItem,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
} from './domain/catalog.ts';
export { failureKinds } from './domain/failure.ts';
export {
  type ApprovalChange,
  type ApprovalReason,
  type ApprovalValue,
  approvalReasons,
  type PinKind,
  pinKinds,
  type ToolChange,
  type ValueOrigin,
} from './domain/host/approval.ts';
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
  RecordOf,
  StateRecord,
  StatusRecord,
  StepRecord,
  TimerEndRecord,
  TimerRecord,
} from './domain/host/inspection.ts';
export {
  type BudgetUse,
  type MemoryUse,
  type SessionCount,
  type SuccessorStatus,
  troupeStates,
} from './domain/host/status.ts';
export { logLevels } from './domain/log-level.ts';
export { type FieldText, questionKinds } from './domain/question.ts';
export {
  type BackingOffReason,
  type BlockedReason,
  backingOffReasons,
  blockedReasons,
  catalogStates,
  circuitStates,
  type DegradedReason,
  degradedReasons,
  type FailedReason,
  failedReasons,
  type SuspendedReason,
  serverStates,
  suspendedReasons,
  type Verdict,
} from './domain/server-state.ts';
export type { ListName } from './domain/session.ts';
export type { ListedExtras } from './domain/tool.ts';
