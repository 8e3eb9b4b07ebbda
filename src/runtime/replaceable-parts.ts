/**
 * The parts of a troupe that `mcp-troupe/testing` lets a test replace. Apart from the others, because its
 * published types must not name packages that only the others use.
 */

import type { InspectionEvent } from 'xstate';
import type { OpenTelemetry } from '../../actors/host/open-telemetry.ts';
import type { ApprovalStore, ApprovalStorePorts } from '../../actors/stores/approvals.ts';
import type { CatalogFiles, CatalogFilesPorts } from '../../actors/stores/catalogs.ts';
import type { Ledger, LedgerPorts } from '../../actors/stores/ledger.ts';
import type { PermissionStore, PermissionStorePorts } from '../../actors/stores/permissions.ts';
import type { StdioSpec } from '../domain/server-spec.ts';

/**
 * Resolves a command as of now; returns undefined if it leads nowhere or cannot be resolved.
 *
 * @param within - real path of the only folder that may be read; absent for no limit
 */
export type FindExecutable = (spec: StdioSpec, within?: string) => Promise<string | undefined>;

export interface ReplaceableParts {
  /** Stores the user's decisions about servers. */
  readonly keepApprovals: (
    ports: Pick<ApprovalStorePorts, 'projectRoot' | 'onProblems'>,
  ) => ApprovalStore;
  /** Stores what the user allows for more than one call. */
  readonly keepPermissions: (
    ports: Pick<PermissionStorePorts, 'projectRoot' | 'onProblems'>,
  ) => PermissionStore;
  /** Resolves the commands of gated servers. Default: commands are started as written. */
  readonly findExecutable?: FindExecutable;
  /** Stores catalogs beyond the run. Default: they are not stored. */
  readonly keepCatalogs?: (onProblems: CatalogFilesPorts['onProblems']) => CatalogFiles;
  /** Stores records of calls. Default: they are not stored. */
  readonly keepLedger?: (onProblems: LedgerPorts['onProblems']) => Ledger;
  /** Receives spans and metrics. Default: none. */
  readonly telemetry?: OpenTelemetry | undefined;
  /** Sees every event of the charts. It must not throw or have side effects. */
  readonly inspect?: (event: InspectionEvent) => void;
}
