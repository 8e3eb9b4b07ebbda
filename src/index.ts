/**
 * mcp-troupe: MCP servers run by statecharts.
 *
 * `createTroupe` starts and reconciles the servers of one or more settings
 * files; the interfaces here are all that a host ever holds. Types that only some hosts name are in
 * `mcp-troupe/inspection`, `mcp-troupe/login` and `mcp-troupe/settings`.
 */

export * from './domain/caller-code.ts';
export type {
  CompletionRequest,
  CompletionResult,
  ExposedInstructions,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
  PromptArgument,
  PromptResult,
  ResourceResult,
} from './domain/catalog.ts';
export type { Clock } from './domain/clock.ts';
export { parseJson, writeJson } from './domain/data/exact-json.ts';
export type { FailureKind } from './domain/failure.ts';
export type { ApprovalRequest } from './domain/host/approval.ts';
export type * from './domain/host/embedded.ts';
export type {
  HostEvent,
  PluginSource,
  TroupeEventName,
  TroupeEvents,
} from './domain/host/event.ts';
export type { Explanation } from './domain/host/explanation.ts';
export type { HeadersTarget, ProvideHeaders } from './domain/host/headers.ts';
export type { Inspection } from './domain/host/inspection.ts';
export { type MissingServer, RequiredServersError } from './domain/host/required-servers-error.ts';
export type * from './domain/host/rule.ts';
export type {
  LastError,
  ServerStatus,
  ServerUsage,
  TroupeSnapshot,
  TroupeState,
  TroupeStatus,
} from './domain/host/status.ts';
export type * from './domain/host/stream.ts';
export type * from './domain/host/telemetry.ts';
export type { AskForInput, InputRequest } from './domain/input.ts';
export type { LogLevel } from './domain/log-level.ts';
export type {
  AskPermission,
  PermissionAnswer,
  PermissionChoice,
  PermissionHook,
  PermissionRequest,
  PermissionVerdict,
} from './domain/permission.ts';
export type { Step, StepKind } from './domain/plan.ts';
export type { PolicyOverrides, PresetName } from './domain/policy.ts';
export type {
  ChoiceField,
  ChoicesField,
  FormChoice,
  FormField,
  FormValue,
  InputRound,
  NamedField,
  NumberField,
  Question,
  QuestionAnswer,
  QuestionBody,
  QuestionClient,
  QuestionEnd,
  QuestionHandler,
  QuestionKind,
  RootFolder,
  SamplingRequest,
  SamplingResult,
  TextField,
  TruthField,
} from './domain/question.ts';
export type { LogStream, ServerLogLine } from './domain/server-log.ts';
export type { Era, ServerSpec, TransportKind } from './domain/server-spec.ts';
export type {
  CatalogState,
  CircuitState,
  ServerState,
  StateReason,
} from './domain/server-state.ts';
export type { CallProgress, ServerProfile } from './domain/session.ts';
export type { Problem, Scope, SettingsReport } from './domain/settings.ts';
export type { ExposedTool, ToolAnnotations, ToolResult, ToolTraits } from './domain/tool.ts';
export { TroupeError, type TroupeErrorDetails } from './domain/troupe-error.ts';
export { version } from './domain/version.ts';
export type { ToolMatch } from './policies/tools/search.ts';
export { createTroupe } from './runtime/assembly/create-troupe.ts';
export * from './runtime/catalog/tool-pair.ts';
export type * from './runtime/troupe.ts';
