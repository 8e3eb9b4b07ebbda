/**
 * Where decisions of persons are taken and kept, and what they are asked.
 *
 * The root decides by its own list of decisions; this keeps the records behind it,
 * hands them to the root whenever another process changed them, and holds back the
 * tools of an approved server that are not the ones that were approved.
 */

import type { ApprovalStore } from '../../actors/approval-store.ts';
import type { SessionTarget } from '../../actors/session-ports.ts';
import type { SettingsReader } from '../../actors/settings-reader.ts';
import type {
  ApprovalDecision,
  ApprovalRecord,
  ApprovalRequest,
  Decision,
  ToolChange,
} from '../domain/approval.ts';
import type { Clock } from '../domain/clock.ts';
import type { HostEvent } from '../domain/host-event.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import type { DesiredServer, Problem } from '../domain/settings.ts';
import type { ListedTool } from '../domain/tool.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { decisionBy, decisionsOf, recordOf } from '../policies/approval-records.ts';
import { equalData } from '../policies/equal-data.ts';
import { approvalFingerprint } from '../policies/fingerprint.ts';
import { printableLine } from '../policies/printable.ts';
import { specFactsOf } from '../policies/spec-facts.ts';
import { changedTools, newPins, pinOf } from '../policies/tool-pins.ts';
import { type ApprovalCase, approvalRequestOf, shownFingerprint } from './approval-requests.ts';
import type { Catalogs } from './catalogs.ts';
import { withEnvFileNames, withExecutables } from './gated-executables.ts';
import type { Listeners } from './listeners.ts';
import type { TroupeParts } from './root-actor.ts';
import type { RootRef } from './status-board.ts';

export interface ApprovalDeskPorts {
  readonly parts: Pick<
    TroupeParts,
    'clock' | 'keepApprovals' | 'findExecutable' | 'readEnvFileNames'
  >;
  readonly projectRoot: string;
  readonly onProblems: (problems: readonly Problem[]) => void;
  /** Made later than this. */
  readonly root: () => RootRef;
  readonly specOf: (generation: string) => ServerSpec | undefined;
  readonly catalogs: () => Catalogs;
  /** What of its tools is held back may differ now. */
  readonly onPinned: (server: string) => void;
  readonly listeners: Listeners;
  readonly remark: (server: string, line: string) => void;
}

type ApprovalOrder = Extract<HostEvent, { readonly type: `approval.${string}` }>;

export function isApprovalOrder(event: HostEvent): event is ApprovalOrder {
  return event.type in decisionBy;
}

// A dead network folder must not keep settings from being read.
const loadMs = 1_000;
const shownTools = 5;

export class ApprovalDesk {
  readonly #ports: ApprovalDeskPorts;
  readonly #clock: Clock;
  readonly #store: ApprovalStore;
  readonly #endListening: () => void;
  /** What was told of changed tools, by server: told once. */
  readonly #told = new Map<string, string>();
  /** What the root knows. */
  #known: readonly ApprovalDecision[] = [];
  #isKeeping = false;

  constructor(ports: ApprovalDeskPorts) {
    const { parts, projectRoot, onProblems } = ports;
    this.#ports = ports;
    this.#clock = parts.clock;
    this.#store = parts.keepApprovals({ projectRoot, onProblems });
    this.#endListening = this.#store.listen(() => {
      this.#tellRoot();
      ports.catalogs().invalidate();
      for (const { name, gated } of this.#servers()) if (gated) ports.onPinned(name);
    });
  }

  /**
   * Before a pass can spawn anybody or ask for anything, what was decided is known, and what the
   * commands of gated servers lead to.
   */
  lookedUpBy(reader: SettingsReader): SettingsReader {
    return {
      ...reader,
      read: async (now, scope) => {
        await this.#loaded();
        const { findExecutable, readEnvFileNames } = this.#ports.parts;
        const reading = await withExecutables(await reader.read(now, scope), findExecutable);
        return withEnvFileNames(reading, readEnvFileNames);
      },
    };
  }

  /** After every pass, asks for all that waits: an edit may have changed what a decision is about. */
  follow(): void {
    const root = this.#ports.root();
    let isPassOver = false;
    root.on('reconciled', () => {
      isPassOver = true;
    });
    root.subscribe({
      next: ({ context }) => {
        if (!isPassOver) return;
        isPassOver = false;
        for (const desired of this.#servers()) {
          if (context.live.get(desired.name)?.verdict === 'pendingApproval') this.#need(desired);
        }
      },
      // Failures of the root end the troupe; whoever made it hears of them there.
      error: () => {},
    });
  }

  /** The program and the names in a variables file that a server may start with; nothing where approval is not needed. */
  boundTo({
    gated,
    executable,
    envFileNames,
  }: DesiredServer): Pick<SessionTarget, 'executable' | 'envFileNames'> {
    const { findExecutable, readEnvFileNames } = this.#ports.parts;
    if (!gated) return {};
    return {
      ...(findExecutable === undefined ? {} : { executable: executable ?? null }),
      ...(readEnvFileNames === undefined ? {} : { envFileNames: envFileNames ?? null }),
    };
  }

  requests(): readonly ApprovalRequest[] {
    return this.#servers()
      .filter(({ gated, invalid }) => gated && invalid === undefined)
      .map((desired) => approvalRequestOf(this.#caseOf(desired)));
  }

  /** @throws TroupeError `PENDING_APPROVAL` when something else was shown than is there now. */
  refuseOutdated({ fingerprint }: ApprovalOrder, desired: DesiredServer): void {
    if (fingerprint === undefined || fingerprint === shownFingerprint(this.#caseOf(desired)))
      return;
    const server = desired.name;
    throw new TroupeError(
      'PENDING_APPROVAL',
      `${server} changed since it was shown, so nothing was decided. Look again and decide about the present one: troupe approve ${server}`,
      { server },
    );
  }

  /** Keeps the decision, and hands on what concerns the root. */
  decide(order: ApprovalOrder, desired: DesiredServer, obey: (order: ApprovalOrder) => void): void {
    const asked = this.#caseOf(desired);
    const fingerprint = approvalFingerprint(desired);
    const subject = { server: desired.name, fingerprint };
    if (order.type === 'approval.grant' && asked.toolChanges.length > 0) {
      const changed = new Set(asked.toolChanges.map(({ tool }) => tool));
      const tools = this.#toolsOf(desired).filter(({ name }) => changed.has(name));
      this.#store.add({ kind: 'pins', ...subject, pins: tools.map((tool) => pinOf(tool)) });
      return;
    }
    // On record before the root obeys: a server that starts at once is held to what it lists.
    this.#keep(asked, subject, decisionBy[order.type]);
    this.#known = decisionsOf(this.#store.records());
    obey({ ...order, fingerprint });
  }

  /** A server told all its tools: those that were not there before are pinned as they are now. */
  noteListed(server: string, generation: string): void {
    const desired = this.#servers().find(({ name }) => name === server);
    if (desired?.generation !== generation) return;
    const record = this.#grantOf(desired);
    if (record === undefined) return;
    const pins = newPins(record.pins, this.#toolsOf(desired));
    const { fingerprint } = record;
    if (pins.length > 0) this.#store.add({ kind: 'pins', server, fingerprint, pins });
    this.#tellChanges(desired);
  }

  /** Tools that are not shown and not called, because they are not what was approved. */
  heldTools(desired: DesiredServer): ReadonlySet<string> {
    if (desired.policy.catalog.pinTools !== 'hold') return new Set();
    return new Set(this.#changesOf(desired).map(({ tool }) => tool));
  }

  /** Settles when every decision is on disk, or is known not to be; undefined when none can be. */
  close(): Promise<void> | undefined {
    this.#endListening();
    return this.#store.close();
  }

  /** Whether all that was decided is on disk. */
  saved(): Promise<boolean> {
    return this.#store.saved();
  }

  #tellRoot(): void {
    const decisions = decisionsOf(this.#store.records());
    if (this.#isKeeping || equalData(decisions, this.#known)) return;
    this.#known = decisions;
    this.#ports.root().send({ type: 'approvals.changed', decisions });
  }

  #keep(
    { desired, spec }: ApprovalCase,
    subject: Pick<ApprovalRecord, 'server' | 'fingerprint'>,
    decision: Decision,
  ): void {
    // What needs no approval is not put on record: it would be a yes should it be gated one day.
    if (!desired.gated || recordOf(this.#store.records(), subject)?.decision === decision) return;
    const facts = spec === undefined ? [] : specFactsOf(spec, desired);
    const decidedAt = this.#clock.wallNow();
    this.#isKeeping = true;
    this.#store.add({
      kind: 'decision',
      record: { ...subject, decision, decidedAt, facts, pins: [] },
    });
    this.#isKeeping = false;
  }

  async #loaded(): Promise<void> {
    let timer: unknown;
    const patience = new Promise<void>((resolve) => {
      timer = this.#clock.setTimeout(resolve, loadMs);
    });
    await Promise.race([this.#store.load(), patience]);
    this.#clock.clearTimeout(timer);
    this.#tellRoot();
  }

  #caseOf(desired: DesiredServer): ApprovalCase {
    const { specOf, parts } = this.#ports;
    return {
      desired,
      spec: specOf(desired.generation),
      records: this.#store.records(),
      toolChanges: desired.policy.catalog.pinTools === 'hold' ? this.#changesOf(desired) : [],
      isLookedUp: parts.findExecutable !== undefined,
    };
  }

  #changesOf(desired: DesiredServer): readonly ToolChange[] {
    const record = this.#grantOf(desired);
    return record === undefined ? [] : changedTools(record.pins, this.#toolsOf(desired));
  }

  /** What the tools of a server are held to; nothing where they are not pinned. */
  #grantOf(desired: DesiredServer): ApprovalRecord | undefined {
    if (!desired.gated || desired.policy.catalog.pinTools === 'off') return undefined;
    const subject = { server: desired.name, fingerprint: approvalFingerprint(desired) };
    const record = recordOf(this.#store.records(), subject);
    return record?.decision === 'granted' ? record : undefined;
  }

  #tellChanges(desired: DesiredServer): void {
    const { name: server } = desired;
    const tools = this.#changesOf(desired).map(({ tool }) => printableLine(tool, 100));
    const list = tools.join(', ');
    if (this.#told.get(server) === list) return;
    this.#told.set(server, list);
    if (tools.length === 0) return;
    const isHeld = desired.policy.catalog.pinTools === 'hold';
    const names = tools.slice(0, shownTools).join(', ');
    const more = tools.length > shownTools ? ` and ${tools.length - shownTools} more` : '';
    const what = isHeld
      ? `held back until they are approved again: troupe approve ${server}`
      : 'shown all the same, as its policy says';
    this.#ports.remark(server, `tools changed since they were approved: ${names}${more}; ${what}`);
    if (isHeld) this.#need(desired);
  }

  #need(desired: DesiredServer): void {
    const fingerprint = shownFingerprint(this.#caseOf(desired));
    this.#ports.listeners.emit('approval.needed', { server: desired.name, fingerprint });
  }

  #toolsOf({ name, generation }: DesiredServer): readonly ListedTool[] {
    return this.#ports.catalogs().listedBy({ server: name, generation });
  }

  #servers(): readonly DesiredServer[] {
    return this.#ports.root().getSnapshot().context.settings?.servers ?? [];
  }
}
