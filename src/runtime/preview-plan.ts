import { resolve } from 'node:path';
import { createDockerGateway } from '../../actors/settings/docker-gateway.ts';
import { readSettings } from '../../actors/settings/last-good-settings.ts';
import { createApprovalStore } from '../../actors/stores/approvals.ts';
import { envFileNamesOf } from '../../actors/values/env-file.ts';
import { approvedPathOf } from '../../actors/values/executable-path.ts';
import { settingsReportOf } from '../config/settings-report.ts';
import type { Step } from '../domain/plan.ts';
import type { ReportedProblem } from '../domain/settings.ts';
import { decisionsOf } from '../policies/approvals/records.ts';
import { explainedPlan } from './explained-plan.ts';
import { settingsPortsOf } from './options/settings-ports.ts';
import { realClock } from './real-clock.ts';
import { withEnvFileNames, withExecutables } from './settings-lookups.ts';
import type { TroupeOptions } from './troupe.ts';

/** Lists the steps that a troupe with these options would begin with, and what is wrong. Starts nothing. */
export async function previewPlan(
  options: TroupeOptions,
): Promise<{ readonly steps: readonly Step[]; readonly problems: readonly ReportedProblem[] }> {
  const { clock = realClock, env = process.env } = options;
  const ports = settingsPortsOf(options, {
    watchDocker: (docker) => createDockerGateway({ ...docker, clock, env }),
  });
  const { projectRoot } = ports;
  const reading = await readSettings(ports);
  const withPrograms = await withExecutables(
    reading,
    (spec, within) => approvedPathOf(spec, env, within),
    projectRoot,
  );
  const { settings } = await withEnvFileNames(withPrograms, (spec) => envFileNamesOf(spec, env));
  const { stateDir } = options;
  const approvals = createApprovalStore({
    projectRoot,
    clock,
    stateDir: stateDir === undefined ? undefined : resolve(stateDir),
    onProblems: () => {},
    watch: () => () => {},
  });
  await approvals.load();
  const steps = explainedPlan({
    settings,
    trusted: options.trusted ?? true,
    launchBound: options.allow ?? null,
    hostAllowed: null,
    decisions: decisionsOf(approvals.records()),
    live: new Map(),
    serving: [],
    halted: [],
  });
  return { steps, problems: settingsReportOf(reading.settings, reading.files).problems };
}
