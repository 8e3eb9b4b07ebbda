/**
 * Records server approvals and requests missing ones.
 *
 * The root uses its own list of decisions. This class stores the records behind that list, updates
 * the root when another process changes them, and withholds an approved server's tools that differ
 * from the approved ones.
 */

import { isWithin } from '../../../actors/files/path-within.ts';
import { watchSettingsFiles } from '../../../actors/files/watcher.ts';
import { withinTime } from '../../../actors/host/time-limit.ts';
import type { SessionOwner, SessionTarget } from '../../../actors/session/ports.ts';
import type { SettingsReader } from '../../../actors/settings/last-good-settings.ts';
import type { ApprovalStore } from '../../../actors/stores/approvals.ts';
import type { Catalog } from '../../domain/catalog.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type {
  ApprovalRecord,
  ApprovalRequest,
  Decision,
  ToolChange,
  ToolPin,
} from '../../domain/host/approval.ts';
import type { HostEvent } from '../../domain/host/event.ts';
import type { Step } from '../../domain/plan.ts';
import { type DesiredServer, needsApproval, type Problem } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import {
  type ApprovalRecords,
  decisionBy,
  decisionsOf,
  pinKey,
  recordOf,
  recordsIn,
} from '../../policies/approvals/records.ts';
import { specFactsOf } from '../../policies/approvals/spec-facts.ts';
import {
  type Announced,
  announcedBy,
  changedTools,
  kindWords,
  newPins,
  pinOf,
} from '../../policies/approvals/tool-pins.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { approvalFingerprint } from '../../policies/fingerprint.ts';
import { GroupedMap } from '../../policies/grouped-map.ts';
import {
  confinesOf,
  folderScopeOf,
  isFolderApproved,
  keyedReader,
  withEnvFileNames,
  withExecutables,
  withFolderFiles,
} from '../settings-lookups.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { HeldCount } from '../status/next-step.ts';
import { type ApprovalCase, approvalRequestOf, shownFingerprint } from './approval-requests.ts';

interface ApprovalsPorts extends SharedPorts {
  /** A function, because the catalogs are created later. */
  readonly catalogs: () => {
    readonly invalidate: () => void;
    readonly listedBy: (of: { readonly server: string; readonly generation: string }) => Catalog;
  };
}

type ApprovalOrder = Extract<HostEvent, { readonly type: `approval.${string}` }>;

export function isApprovalOrder(event: HostEvent): event is ApprovalOrder {
  return event.type in decisionBy;
}

// One second: an unreachable network folder must not block reading the settings any longer.
const loadMs = 1_000;
const shownTools = 5;
// A month: a twelfth of the time after which an unused grant may be removed.
const useNotedMs = 30 * 24 * 3_600_000;

/** How a catalog differs from the pins. */
interface Comparison {
  readonly pins: readonly ToolPin[];
  readonly changes: readonly ToolChange[];
  /** Names of the changed tools. */
  readonly tools: ReadonlySet<string>;
  /** Other changed definitions, by `pinKey`. */
  readonly offers: ReadonlySet<string>;
}

const noChanges: Comparison = { pins: [], changes: [], tools: new Set(), offers: new Set() };

export class Approvals {
  readonly #ports: ApprovalsPorts;
  readonly #clock: Clock;
  readonly #store: ApprovalStore;
  readonly #endListening: () => void;
  /** The changed tools as last logged, by server, so that no line is repeated. */
  readonly #reported = new Map<string, string>();
  /** The records whose decisions the root has. */
  #known: ApprovalRecords = GroupedMap.of();
  #isKeeping = false;
  /** The last comparison of each catalog, cached because every status needs it. */
  readonly #compared = new WeakMap<Catalog, Comparison>();
  /** Servers already reported for announcing more than is pinned. */
  readonly #hasUnpinned = new Set<string>();
  /** The records at the last change notification. */
  #followed: ApprovalRecords = GroupedMap.of();
  /** The files that approvals of waiting servers are bound to, each with the folder that confines it. */
  readonly #waitedFor = new Map<string, ReadonlyMap<string, string | undefined>>();
  /** The watched files with the folders that confine them. */
  #watched: ReadonlyMap<string, string | undefined> = new Map();
  #unwatch = (): void => {};

  constructor(ports: ApprovalsPorts) {
    const { parts, projectRoot, problems } = ports;
    this.#ports = ports;
    this.#clock = parts.clock;
    const onProblems = (list: readonly Problem[]): void => problems.set('approvals', list);
    this.#store = parts.keepApprovals({ projectRoot, onProblems });
    this.#endListening = this.#store.listen(() => {
      this.#updateRoot();
      ports.catalogs().invalidate();
      const records = this.#store.records();
      const concerned = records.changesSince(this.#followed);
      this.#followed = records;
      for (const name of concerned) {
        const desired = this.#serverNamed(name);
        if (desired !== undefined && needsApproval(desired)) ports.board().refresh(name);
      }
    });
  }

  /**
   * Loads the decisions, and looks up what approvals are bound to, before a pass can spawn a server or
   * request an approval.
   */
  lookedUpBy(plain: SettingsReader): SettingsReader {
    const { parts, projectRoot } = this.#ports;
    const { findExecutable, folderLookup, generationKey, readEnvFileNames } = parts;
    const reader = keyedReader(plain, generationKey, this.#clock);
    return {
      ...reader,
      read: async (now, scope) => {
        await withinTime(this.#clock, loadMs, this.#store.load());
        this.#updateRoot();
        const reading = await withExecutables(
          await reader.read(now, scope),
          findExecutable,
          projectRoot,
        );
        const withNames = await withEnvFileNames(reading, readEnvFileNames);
        return withFolderFiles(withNames, folderLookup, projectRoot);
      },
    };
  }

  /** Requests all missing approvals after every pass: an edit may have changed what a decision covers. */
  follow(): void {
    const root = this.#ports.root();
    let passed: readonly Step[] = [];
    root.on('reconciled', ({ plan }) => {
      passed = plan;
    });
    root.subscribe({
      next: ({ context }) => {
        const plan = passed;
        passed = [];
        if (plan.length === 0) return;
        for (const name of new Set(plan.map(({ server }) => server))) {
          const desired = serverNamed(context.settings, name);
          const isPending = context.live.get(name)?.verdict === 'pendingApproval';
          this.#noteFiles(name, isPending ? desired : undefined);
          if (desired === undefined || !needsApproval(desired)) continue;
          if (isPending) this.#requestApproval(desired);
          else this.#noteUse(desired);
        }
        this.#watch();
      },
      // A failure of the root ends the troupe, which reports it to its host.
      error: () => {},
    });
  }

  /**
   * Follows the files that the approvals of waiting servers are bound to: an earlier one applies again
   * once they are as they were. Files of running servers are read at their next start, so that saving
   * a file never stops a server.
   */
  #watch(): void {
    const { parts, root } = this.#ports;
    const files = new Map([...this.#waitedFor.values()].flatMap((each) => [...each]));
    if (equalTyped([...files], [...this.#watched])) return;
    this.#unwatch();
    this.#watched = files;
    if (files.size === 0) {
      this.#unwatch = () => {};
      return;
    }
    const confines = [...files].filter((it): it is [string, string] => it[1] !== undefined);
    const changed = (): void => root().send({ type: 'settings.reload' });
    const watch = parts.settings?.watch ?? watchSettingsFiles;
    const listener = { changed, slowed: () => {} };
    this.#unwatch = watch([...files.keys()], listener, { confines: new Map(confines) });
  }

  #noteFiles(server: string, pending: DesiredServer | undefined): void {
    const files = pending && this.#filesOf(pending);
    if (files === undefined || files.size === 0) this.#waitedFor.delete(server);
    else this.#waitedFor.set(server, files);
  }

  /** The files that a server's approval is bound to. */
  #filesOf(desired: DesiredServer): ReadonlyMap<string, string | undefined> | undefined {
    const { parts, projectRoot, book } = this.#ports;
    const spec = book.specOf(desired.generation);
    if (spec === undefined || spec.type === 'memory') return undefined;
    const isRead = desired.gated && parts.readEnvFileNames !== undefined;
    const rule = isRead ? spec.values?.envFile : undefined;
    const places = parts.folderLookup?.places(spec, folderScopeOf(desired, projectRoot)) ?? [];
    // A link in the project is never followed out of it.
    const confinesAt = (place: string) => (isWithin(place, projectRoot) ? projectRoot : undefined);
    return new Map([
      ...places.map((place) => [place, confinesAt(place)] as const),
      ...(rule === undefined ? [] : [[rule.path, rule.within] as const]),
    ]);
  }

  /** Reads again what the approval of a server that waits for one is bound to. */
  readAgain(desired: DesiredServer): void {
    const root = this.#ports.root();
    const { live } = root.getSnapshot().context;
    if (needsApproval(desired) && live.get(desired.name)?.verdict === 'pendingApproval')
      root.send({ type: 'settings.reload' });
  }

  /** Returns what was approved, with which alone a server may start; empty if nothing needs approval. */
  boundTo(
    desired: DesiredServer,
  ): Pick<SessionTarget, 'executable' | 'within' | 'envFileNames' | 'folder'> {
    const { parts, projectRoot } = this.#ports;
    const { executable = null, envFileNames = null, folderFiles: approved = [] } = desired;
    const folder = parts.folderLookup !== undefined &&
      isFolderApproved(desired) && { folder: { approved, ...folderScopeOf(desired, projectRoot) } };
    if (!desired.gated) return { ...folder };
    const within = confinesOf(desired, projectRoot);
    return {
      ...folder,
      ...(parts.findExecutable === undefined ? {} : { executable, ...defined({ within }) }),
      ...(parts.readEnvFileNames === undefined ? {} : { envFileNames }),
    };
  }

  requests(server?: string): readonly ApprovalRequest[] {
    const one = server === undefined ? undefined : this.#serverNamed(server);
    const servers =
      server === undefined
        ? (this.#ports.book.settings?.servers ?? [])
        : one === undefined
          ? []
          : [one];
    return servers
      .filter((it) => needsApproval(it) && it.invalid === undefined)
      .map((desired) => approvalRequestOf(this.#caseOf(desired)));
  }

  /** @throws TroupeError `PENDING_APPROVAL` if the server differs from what was shown. */
  refuseOutdated({ fingerprint }: ApprovalOrder, desired: DesiredServer): void {
    if (fingerprint === undefined || fingerprint === shownFingerprint(this.#caseOf(desired)))
      return;
    const server = desired.name;
    throw new TroupeError(
      'PENDING_APPROVAL',
      `${server} changed since it was shown, so the decision was not recorded. Review its current form: troupe approve ${server}`,
      { server },
    );
  }

  /** Stores the decision, and passes it to the root unless it only approves changed tools. */
  decide(order: ApprovalOrder, desired: DesiredServer, obey: (order: ApprovalOrder) => void): void {
    const asked = this.#caseOf(desired);
    const fingerprint = approvalFingerprint(desired);
    const subject = { server: desired.name, fingerprint };
    if (order.type === 'approval.grant' && asked.toolChanges.length > 0) {
      const changed = new Set(asked.toolChanges.map(pinKey));
      const pins = this.#announcedBy(desired).filter((one) => changed.has(pinKey(one)));
      this.#store.add({ kind: 'pins', ...subject, pins: pins.map(pinOf) });
      return;
    }
    // Recorded before the root obeys: a server that starts at once is pinned to its first lists.
    this.#keep(asked, subject, decisionBy[order.type]);
    this.#known = this.#store.records();
    obey({ ...order, fingerprint });
  }

  /** Pins the definitions that a server listed for the first time. */
  noteListed({ server, generation }: SessionOwner): void {
    const desired = this.#serverNamed(server);
    if (desired?.generation !== generation) return;
    const record = this.#grantOf(desired);
    if (record === undefined) return;
    const announced = this.#announcedBy(desired);
    const pins = newPins(record.pins, announced);
    const { fingerprint } = record;
    if (pins.length > 0) this.#store.add({ kind: 'pins', server, fingerprint, pins });
    this.#reportUnpinned(server, announced, [...record.pins, ...pins]);
    this.#reportChanges(desired);
  }

  /**
   * Returns the tools that are neither shown nor called because they differ from the approved ones.
   */
  heldTools(desired: DesiredServer): ReadonlySet<string> {
    return this.#heldBackOf(desired).tools;
  }

  /** Returns other withheld definitions, by `pinKey`: instructions, prompts and resources. */
  heldOffers(desired: DesiredServer): ReadonlySet<string> {
    return this.#heldBackOf(desired).offers;
  }

  heldCount(desired: DesiredServer): HeldCount {
    const { tools, offers } = this.#heldBackOf(desired);
    return { tools: tools.size, offers: offers.size };
  }

  /** Returns the withheld changes: all of them, or none if the policy only reports them. */
  #heldBackOf(desired: DesiredServer): Comparison {
    return desired.policy.catalog.pinTools === 'hold' ? this.#compare(desired) : noChanges;
  }

  /**
   * Settles once every decision is on disk or could not be saved; returns undefined if there is no
   * store.
   */
  close(): Promise<void> | undefined {
    this.#endListening();
    this.#unwatch();
    return this.#store.close();
  }

  /** Resolves with whether every decision is on disk. */
  saved(): Promise<boolean> {
    return this.#store.saved();
  }

  #updateRoot(): void {
    if (this.#isKeeping) return;
    const records = this.#store.records();
    const before = this.#known;
    this.#known = records;
    const differs = (name: string): boolean =>
      !equalTyped(decisionsOf(records.get(name) ?? []), decisionsOf(before.get(name) ?? []));
    if (!records.changesSince(before).some(differs)) return;
    const decisions = decisionsOf(recordsIn(records));
    this.#ports.root().send({ type: 'approvals.changed', decisions });
  }

  /** Records a grant's use, at most once a month so that the file is rarely written for it. */
  #noteUse(desired: DesiredServer): void {
    const record = this.#grantedTo(desired);
    const usedAt = this.#clock.wallNow();
    if (record === undefined) return;
    if (usedAt - Math.max(record.decidedAt, record.usedAt ?? 0) < useNotedMs) return;
    const { server, fingerprint } = record;
    this.#store.add({ kind: 'use', server, fingerprint, usedAt });
  }

  #keep(
    { desired, spec }: ApprovalCase,
    subject: Pick<ApprovalRecord, 'server' | 'fingerprint'>,
    decision: Decision,
  ): void {
    // A server that needs no approval gets no record: if it were gated later, it would count as
    // approved.
    if (!needsApproval(desired)) return;
    if (recordOf(this.#store.records(), subject)?.decision === decision) return;
    const facts = spec === undefined ? [] : specFactsOf(spec, desired);
    const decidedAt = this.#clock.wallNow();
    this.#isKeeping = true;
    this.#store.add({
      kind: 'decision',
      record: { ...subject, decision, decidedAt, facts, pins: [] },
    });
    this.#isKeeping = false;
  }

  #caseOf(desired: DesiredServer): ApprovalCase {
    const { book, parts } = this.#ports;
    return {
      desired,
      spec: book.specOf(desired.generation),
      records: this.#store.records(),
      toolChanges: this.#heldBackOf(desired).changes,
      isLookedUp: desired.gated && parts.findExecutable !== undefined,
    };
  }

  #compare(desired: DesiredServer): Comparison {
    const pins = this.#grantOf(desired)?.pins;
    if (pins === undefined) return noChanges;
    const catalog = this.#catalogOf(desired);
    const known = this.#compared.get(catalog);
    if (known?.pins === pins) return known;
    const changes = changedTools(pins, announcedBy(catalog));
    const tools = new Set(changes.filter((it) => it.kind === undefined).map((it) => it.tool));
    const offers = new Set(changes.filter((it) => it.kind !== undefined).map(pinKey));
    const compared = { pins, changes, tools, offers };
    this.#compared.set(catalog, compared);
    return compared;
  }

  /** Returns the record that pins a server's tools; undefined if they are not pinned. */
  #grantOf(desired: DesiredServer): ApprovalRecord | undefined {
    if (!desired.gated || desired.policy.catalog.pinTools === 'off') return undefined;
    return this.#grantedTo(desired);
  }

  #grantedTo(desired: DesiredServer): ApprovalRecord | undefined {
    const subject = { server: desired.name, fingerprint: approvalFingerprint(desired) };
    const record = recordOf(this.#store.records(), subject);
    return record?.decision === 'granted' ? record : undefined;
  }

  #reportChanges(desired: DesiredServer): void {
    const { name: server } = desired;
    const { changes } = this.#compare(desired);
    const names = changes.map(({ kind, tool }) => printableLine(`${kindWords(kind)}${tool}`, 100));
    const list = names.join(', ');
    if (this.#reported.get(server) === list) return;
    this.#reported.set(server, list);
    if (names.length === 0) return;
    const isHeld = desired.policy.catalog.pinTools === 'hold';
    const shown = names.slice(0, shownTools).join(', ');
    const more = names.length > shownTools ? ` and ${names.length - shownTools} more` : '';
    const what = isHeld
      ? `withheld until they are approved again: troupe approve ${server}`
      : 'still shown, as its policy says';
    const subject = changes.every(({ kind }) => kind === undefined) ? 'tools' : 'definitions';
    const line = `${subject} changed since they were approved: ${shown}${more}; ${what}`;
    this.#ports.records.remark(server, line);
    if (isHeld) this.#requestApproval(desired);
  }

  #reportUnpinned(server: string, announced: readonly Announced[], pins: readonly ToolPin[]): void {
    const pinned = new Set(pins.map(pinKey));
    const left = announced.filter((one) => !pinned.has(pinKey(one))).length;
    if (left === 0 || this.#hasUnpinned.has(server)) return;
    this.#hasUnpinned.add(server);
    const line = `announces more than is pinned: changes of ${left} of its prompts and resources will not be noticed`;
    this.#ports.records.remark(server, line);
  }

  #requestApproval(desired: DesiredServer): void {
    const fingerprint = shownFingerprint(this.#caseOf(desired));
    this.#ports.listeners.emit('approval.needed', { server: desired.name, fingerprint });
  }

  #announcedBy(desired: DesiredServer): readonly Announced[] {
    return announcedBy(this.#catalogOf(desired));
  }

  #catalogOf({ name, generation }: DesiredServer): Catalog {
    return this.#ports.catalogs().listedBy({ server: name, generation });
  }

  #serverNamed(name: string): DesiredServer | undefined {
    return serverNamed(this.#ports.book.settings, name);
  }
}
