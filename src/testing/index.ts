/**
 * Tools to test charts and the code that runs them: a virtual clock, a search through all states,
 * a linter for charts, and readable traces.
 */

export type { Effect } from '../../machines/xstate/internals.ts';
export type { SideLists } from '../domain/catalog.ts';
export type { Clock } from '../domain/clock.ts';
export type { BlockedCode, Failure, FailureCause, Missing } from '../domain/failure.ts';
export type { DegradedReason } from '../domain/server-state.ts';
export type { CallFailure, SessionId } from '../domain/session.ts';
export type { ListedTool } from '../domain/tool.ts';
export type { FindExecutable } from '../runtime/replaceable-parts.ts';
export { chartMermaid } from './chart-mermaid.ts';
export { type ChartTextOptions, chartOutline, chartText } from './chart-text.ts';
export {
  describeProblem,
  type EventChoice,
  type EventChoices,
  type Exploration,
  type ExploredStep,
  type ExploreOptions,
  type ExploreProblem,
  explore,
} from './explore.ts';
export { type LintOptions, lintChart } from './lint-chart.ts';
export {
  createScriptedTroupe,
  type MemoryFiles,
  managedFile,
  projectFile,
  type ReportedFault,
  type ScriptedTroupe,
  type ScriptedTroupeOptions,
  type SettingsContent,
  settingsFile,
} from './scripted-troupe.ts';
export type {
  ScriptedCall,
  ScriptedCommand,
  ScriptedOpening,
  ScriptedSessions,
  SessionScript,
} from './session-script.ts';
export { recordTrace, type Trace, type TraceOptions } from './trace.ts';
export { VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';
