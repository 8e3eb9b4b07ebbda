import { exitCodeFor } from '../../domain/caller-code.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { CliSession, CommandDefinition } from '../command.ts';
import { launchToRead } from '../control/running-troupe.ts';
import type { Finding } from '../doctor/finding.ts';
import { noServers, settingsOptionsOf } from '../launch.ts';
import type { Output, Style } from '../show/output.ts';

const styles: Readonly<Record<Finding['verdict'], Style>> = {
  ok: 'green',
  warn: 'yellow',
  fail: 'red',
};

/** `doctor`: whether this machine has what a troupe needs. */
export const doctorCommand: CommandDefinition = {
  usage: 'doctor',
  summary: 'check what a troupe needs of this machine, one line each, with the next step',
  details:
    'Checks Node, the settings files, programs on PATH, local ports, the keychain, the state folder, the control socket, ' +
    'file watching, proxies and files of certificates. Connects to proxies, starts no server and prints no value. ' +
    'Exits with 2 when a check fails.',
  example: 'troupe doctor --json',
  async run(session) {
    const { output } = session;
    const checks = await findings(session);
    output.document({ checks });
    output.lines(checks.map((finding) => findingLine(finding, output.paint)));
    const hasFailed = checks.some(({ verdict }) => verdict === 'fail');
    return hasFailed ? exitCodeFor({ code: 'INVALID_CONFIG', outcome: 'not_executed' }) : 0;
  },
};

async function findings({ host, launch }: CliSession): Promise<readonly Finding[]> {
  // Loaded late: they need Zod and the runtime.
  const [settings, network, machine, { machineNeedsOf }] = await Promise.all([
    import('../doctor/settings-checks.ts'),
    import('../doctor/network-checks.ts'),
    import('../doctor/machine-checks.ts'),
    import('../../runtime/previews/machine-needs.ts'),
  ]);
  const needs = await machineNeedsOf({
    ...settingsOptionsOf(await launchToRead(launch)),
    env: host.env,
  });
  const [state, socket, watch, ports, keychain, proxies] = await Promise.all([
    machine.stateFinding(launch),
    machine.socketFinding(launch),
    machine.watchFinding(),
    network.portFindings(needs),
    settings.keychainFindings(needs),
    network.proxyFindings(needs),
  ]);
  return [
    machine.nodeFinding(),
    ...settings.settingsFindings(needs.report, noServers(launch).replace(/^[^:]*: /u, '')),
    ...settings.programFindings(needs),
    ...ports,
    ...keychain,
    state,
    socket,
    watch,
    ...proxies,
    ...network.certificateFindings(needs),
  ];
}

function findingLine({ check, verdict, message, next }: Finding, paint: Output['paint']): string {
  const help = next === undefined ? '' : `; next: ${next}`;
  const text = printableLine(`${message}${help}`, 1_000);
  return `${paint(styles[verdict], verdict.padEnd(4))}  ${check.padEnd(9)} ${text}`;
}
