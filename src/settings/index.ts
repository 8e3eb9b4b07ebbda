/**
 * `mcp-troupe/settings`: types of what settings say about servers, and lists of presets, scopes and
 * rules, for hosts with rules, policies or inputs of their own.
 */

export type * from '../domain/host/hooks.ts';
export type { InputChoice, InputDefinition } from '../domain/input.ts';
export {
  type PermissionPattern,
  type PermissionRules,
  permissionAnswers,
  permissionVerdicts,
} from '../domain/permission.ts';
export type {
  AdmissionPolicy,
  AfterGiveUp,
  ApprovalPolicy,
  BreakerPolicy,
  BusyBackoff,
  CallPolicy,
  CatalogPolicy,
  ClassifyPolicy,
  ClassifyRule,
  ClosePolicy,
  CloseStep,
  ConnectPolicy,
  Delays,
  FirstAttempt,
  HealthPolicy,
  IdlePolicy,
  Jitter,
  NamingPolicy,
  PolicyGroup,
  QuietRetries,
  RestartPolicy,
  RestartRule,
  ResultPolicy,
  ServerPolicy,
  StartupPolicy,
  StormLimit,
  StormPolicy,
} from '../domain/policy.ts';
export { presetNames, restartRules } from '../domain/policy.ts';
export { scopes } from '../domain/scope.ts';
export type {
  HttpSpec,
  MemorySpec,
  ReachRules,
  RemoteSpec,
  StdioSpec,
  StreamSpec,
  TlsRules,
  ValueCommand,
  ValueRules,
} from '../domain/server-spec.ts';
export type {
  CallLimits,
  ReportedFile,
  ReportedProblem,
  SourceRef,
  ToolFilter,
  ToolOverride,
} from '../domain/settings.ts';
