import { createDockerGateway } from '../../actors/docker-gateway.ts';
import { readSettings } from '../../actors/settings-reader.ts';
import { planOf } from '../../machines/troupe.ts';
import type { Step } from '../domain/plan.ts';
import { realClock } from './real-clock.ts';
import { settingsPortsOf } from './settings-ports.ts';
import type { TroupeOptions } from './troupe.ts';

/** Lists the steps that a troupe with these options would begin with. Starts nothing. */
export async function previewPlan(options: TroupeOptions): Promise<readonly Step[]> {
  const { clock = realClock, env = process.env } = options;
  const { settings } = await readSettings(
    settingsPortsOf(options, {
      watchDocker: (ports) => createDockerGateway({ ...ports, clock, env }),
    }),
  );
  return planOf({
    settings,
    trusted: options.trusted ?? true,
    launchBound: options.allow ?? null,
    hostAllowed: null,
    decisions: [],
    live: new Map(),
  });
}
