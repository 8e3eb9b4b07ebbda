/**
 * The charts of mcp-troupe, to read, draw, test and run (docs/charts.md). Each is a machine of XState 5: it
 * decides, and asks actors that its host provides for everything else. Until they are provided, an actor that
 * it starts throws.
 */

export {
  type AttachmentContext,
  type AttachmentEvent,
  attachmentMachine,
} from '../machines/attachment.ts';
export { authorizationMachine } from '../machines/authorization/authorization.ts';
export type {
  AuthorizationContext,
  AuthorizationEvent,
  AuthorizationInput,
  CodeStepDone,
  LoadStepDone,
  PollStepDone,
  StepDone,
  StepInput,
  TokenStepDone,
} from '../machines/authorization/authorization-setup.ts';
export {
  type LeaseContext,
  type LeaseEvent,
  leaseMachine,
  type Released,
} from '../machines/lease.ts';
export {
  type AskedPermission,
  type KeptAnswer,
  type PermissionContext,
  type PermissionEvent,
  type PermissionInput,
  type PermissionReview,
  permissionMachine,
} from '../machines/permission.ts';
export {
  type QuestionContext,
  type QuestionEvent,
  type QuestionInput,
  type QuestionListed,
  type QuestionReply,
  questionMachine,
} from '../machines/question.ts';
export {
  type FoundFile,
  type RecordFileContext,
  type RecordFileEvent,
  recordFileMachine,
} from '../machines/record-file.ts';
export {
  type PresentUse,
  type RetentionContext,
  type RetentionEvent,
  retentionMachine,
} from '../machines/retention.ts';
export type { ServerContext, ServerEvent, ServerInput } from '../machines/server/context.ts';
export { serverMachine } from '../machines/server/server.ts';
export {
  type RefreshContext,
  type RefreshEvent,
  type RefreshInput,
  refreshMachine,
} from '../machines/session/list-refresh.ts';
export { sessionMachine } from '../machines/session/session.ts';
export type { SessionContext, SessionEvent } from '../machines/session/session-setup.ts';
export {
  type SlotsContext,
  type SlotsEvent,
  type SlotsInput,
  slotsMachine,
} from '../machines/slots.ts';
export { type ThrottleEvent, type ThrottleInput, throttleMachine } from '../machines/throttle.ts';
export type {
  TroupeContext,
  TroupeEmitted,
  TroupeEvent,
  TroupeInput,
} from '../machines/troupe/context.ts';
export {
  type HandoverEvent,
  type HandoverInput,
  handoverMachine,
} from '../machines/troupe/handover.ts';
export { troupeMachine } from '../machines/troupe/troupe.ts';
export type { AuthorizationFailure, AuthorizationFailureKind } from './domain/authorization.ts';
export type { PermissionDenial } from './domain/permission.ts';
export type {
  CloseOutcome,
  ConnectOutcome,
  LaunchOutcome,
  ListOutcome,
  ProbeAnswer,
  RefreshFact,
  ResolveOutcome,
  SessionEnd,
  SessionInput,
  StepFailed,
  WireCommand,
} from './domain/session.ts';
export type { SettingsFact, SettingsInput } from './domain/settings-facts.ts';
