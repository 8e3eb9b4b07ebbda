/**
 * `mcp-troupe/settings`: types of what settings say about servers, for hosts with rules, policies or
 * inputs of their own. Types only, nothing to run.
 */

export type { InputChoice, InputDefinition } from '../domain/input.ts';
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
  QuietRetries,
  RestartPolicy,
  RestartRule,
  ResultPolicy,
  ServerPolicy,
  StartupPolicy,
  StormLimit,
  StormPolicy,
} from '../domain/policy.ts';
export type {
  HttpSpec,
  MemorySpec,
  ReachRules,
  RemoteSpec,
  StdioSpec,
  StreamSpec,
  TlsRules,
} from '../domain/server-spec.ts';
export type {
  CallLimits,
  ReportedFile,
  ReportedProblem,
  SourceRef,
  ToolFilter,
  ToolOverride,
} from '../domain/settings.ts';
