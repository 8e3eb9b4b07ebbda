import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { inspect } from 'node:util';
import { openTelemetry } from '../../../actors/host/open-telemetry.ts';
import { watchSleep } from '../../../actors/host/sleep-watch.ts';
import { residentMemory } from '../../../actors/processes/resident-memory.ts';
import { createProcessKeeper } from '../../../actors/processes/started-processes.ts';
import { createSessionIo } from '../../../actors/session/io.ts';
import { createSessionActors } from '../../../actors/session/leaf-actors.ts';
import { createDockerGateway } from '../../../actors/settings/docker-gateway.ts';
import { createApprovalStore } from '../../../actors/stores/approvals.ts';
import { createCatalogFiles } from '../../../actors/stores/catalogs.ts';
import { createCredentialStore } from '../../../actors/stores/credentials.ts';
import { installationKey } from '../../../actors/stores/installation-key.ts';
import { createLedger } from '../../../actors/stores/ledger.ts';
import { createLoginDemandStore } from '../../../actors/stores/login-demands.ts';
import { createPermissionStore } from '../../../actors/stores/permissions.ts';
import { createImageShrinker } from '../../../actors/stores/result-images.ts';
import { createResultFiles } from '../../../actors/stores/results.ts';
import { envFileNamesOf } from '../../../actors/values/env-file.ts';
import { approvedPathOf } from '../../../actors/values/executable-path.ts';
import { createFolderLookup } from '../../../actors/values/folder-files.ts';
import { withApiWords } from '../errors/api-words.ts';
import { projectRootOf } from '../options/settings-ports.ts';
import { promptClock, realClock } from '../real-clock.ts';
import type { Troupe, TroupeOptions } from '../troupe.ts';
import { assembleTroupe, type TroupeParts } from './assemble-troupe.ts';

const seedRange = 2 ** 31;

/**
 * Starts a troupe: reads the settings, starts admitted servers, and keeps
 * reconciling until it is stopped. Returns immediately; `ready()` resolves
 * after the startup gate.
 *
 * Faults in listeners and actors are reported as process warnings, because they must not end the
 * host and must not go unnoticed.
 */
export function createTroupe(options: TroupeOptions = {}): Troupe {
  return withApiWords(createCommandTroupe(options));
}

/** Starts a troupe whose errors name commands, as the command line needs them. */
export function createCommandTroupe(options: TroupeOptions = {}): Troupe {
  return assembleTroupe(options, partsOf(options));
}

function partsOf(options: TroupeOptions): TroupeParts {
  const { clock = realClock, env = process.env } = options;
  const stateDir = options.stateDir === undefined ? undefined : resolve(options.stateDir);
  const projectRoot = projectRootOf(options);
  return {
    forClient: partsOf,
    clock,
    coreCount: availableParallelism(),
    // The prompt clock, so that servers get the wake-up before their overdue deadlines fire.
    watchSleep: (onWoke) => watchSleep(options.clock ?? promptClock, onWoke),
    seed: options.seed ?? randomInt(seedRange),
    env,
    createSession: (sessionPorts) => createSessionActors(createSessionIo(sessionPorts)),
    keepApprovals: (ports) => createApprovalStore({ ...ports, clock, stateDir }),
    keepPermissions: (ports) => createPermissionStore({ ...ports, clock, stateDir }),
    keepCredentials: (onProblems) =>
      createCredentialStore({ clock, stateDir, onProblems, host: options.credentials }),
    findExecutable: (spec, within) => approvedPathOf(spec, env, within),
    generationKey: () => installationKey(stateDir, clock),
    folderLookup: createFolderLookup(env),
    readEnvFileNames: (spec) => envFileNamesOf(spec, env, projectRoot),
    ...(stateDir === undefined
      ? {}
      : {
          resultFiles: createResultFiles({ stateDir, wallNow: Date.now }),
          keepLoginDemands: () => createLoginDemandStore(stateDir, clock),
          keepLedger: (onProblems) => createLedger({ stateDir, clock, onProblems }),
          keepCatalogs: (onProblems) => createCatalogFiles({ stateDir, clock, onProblems }),
        }),
    images: createImageShrinker(),
    telemetry: openTelemetry(options.telemetry, report),
    watchDocker: (ports) => createDockerGateway({ ...ports, clock, env }),
    readMemory: residentMemory,
    keepProcesses: (onProblems) =>
      createProcessKeeper({ stateDir, clock, wallNow: Date.now, onProblems }),
    // A troupe on a host's clock waits for nothing but that clock.
    ...(options.clock === undefined && { settings: { yieldToServers: () => after(1) } }),
    report,
  };
}

function report(message: string, error: unknown): void {
  process.emitWarning(`${message} ${inspect(error)}`, { type: 'TroupeWarning' });
}
