import { createDockerGateway } from '../../../actors/settings/docker-gateway.ts';
import type { Step } from '../../domain/plan.ts';
import type { ReportedProblem } from '../../domain/settings.ts';
import { byServer, decisionsOf, recordsIn } from '../../policies/approvals/records.ts';
import { GroupedMap } from '../../policies/grouped-map.ts';
import { settingsReportOf } from '../../settings/settings-report.ts';
import { settingsPortsOf } from '../options/settings-ports.ts';
import { realClock } from '../real-clock.ts';
import type { TroupeOptions } from '../troupe.ts';
import { approvableSettings, storedApprovals } from './approvable-settings.ts';
import { explainedPlan } from './explained-plan.ts';

/** Lists the steps that a troupe with these options would begin with, and what is wrong. Starts nothing. */
export async function previewPlan(
  options: TroupeOptions,
): Promise<{ readonly steps: readonly Step[]; readonly problems: readonly ReportedProblem[] }> {
  const { clock = realClock, env = process.env } = options;
  const ports = settingsPortsOf(options, {
    watchDocker: (docker) => createDockerGateway({ ...docker, clock, env }),
  });
  const { reading, settings } = await approvableSettings(ports, options);
  const approvals = await storedApprovals(options, ports.projectRoot);
  const steps = explainedPlan({
    settings,
    trusted: options.trusted ?? true,
    launchBound: options.allow ?? null,
    hostAllowed: null,
    decisions: byServer(decisionsOf(recordsIn(approvals.records()))),
    live: GroupedMap.of(),
    serving: GroupedMap.of(),
    halted: GroupedMap.of(),
    inTurn: [],
  });
  return { steps, problems: settingsReportOf(reading.settings, reading.files).problems };
}
