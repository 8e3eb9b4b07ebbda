/**
 * Runs two `docker` commands at once to check that Docker supports the `mcp` command and reaches a
 * daemon. Each run may take three seconds and has its own process group, which is empty by the time
 * the result is returned. No shell is involved; Docker's output is redacted, shown in one line and
 * never executed.
 *
 * Never rejects. Once the signal is aborted, the result is meaningless.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { redactWords } from '../../src/policies/text/redact-words.ts';
import {
  type DockerFinding,
  dockerAnswerMs,
  dockerGatewaySpec,
} from '../../src/settings/docker-gateway.ts';
import { type BriefAnswer, type BriefRun, runBriefly } from '../processes/run-briefly.ts';
import type { ProcessKeeper } from '../processes/started-processes.ts';
import type { StdioLaunch } from '../processes/system.ts';
import { resolveSpec } from '../values/target.ts';

interface DockerCheckPorts {
  readonly clock: Clock;
  readonly env: Variables;
  readonly projectRoot: string;
  readonly variables: readonly string[];
  readonly signal: AbortSignal;
  readonly processes: ProcessKeeper | undefined;
}

const helpWords = ['mcp', '--help'];
const infoWords = ['info', '--format', '{{.ServerVersion}}'];

/** `begun` settles once both processes are running, and never if one cannot be started. */
export function checkDocker(ports: DockerCheckPorts): {
  readonly begun: Promise<unknown>;
  readonly found: Promise<DockerFinding>;
} {
  const spec = dockerGatewaySpec(ports.projectRoot, ports.variables);
  const resolved = resolveSpec(spec, ports.env);
  if (resolved.type !== 'stdio') throw new Error('the gateway of Docker is a program');
  const { launch, secrets } = resolved;
  // One answer may make the other unnecessary.
  const leave = new AbortController();
  const signal = AbortSignal.any([ports.signal, leave.signal]);
  const help = question({ ...launch, args: helpWords }, { ...ports, signal });
  const info = question({ ...launch, args: infoWords }, { ...ports, signal });
  const judge = async (): Promise<DockerFinding> => {
    const clean = (text: string): string =>
      printableLine(redactWords(text, secrets), maxSaidLength);
    const verdict = judgeHelp(await help.answer, clean);
    if (verdict !== undefined) leave.abort();
    const version = await info.answer;
    return verdict ?? judgeInfo(version, clean) ?? { isThere: true };
  };
  return { begun: Promise.all([help.running, info.running]), found: judge() };
}

type Clean = (text: string) => string;

function judgeHelp(answer: BriefAnswer, clean: Clean): DockerFinding | undefined {
  if ('unstartable' in answer) return lacking('program', clean(answer.unstartable));
  if ('isLate' in answer) return lacking('time', asked(helpWords));
  if (answer.exitCode !== 0) return lacking('command', clean(firstLine(answer.err)));
  // For an unknown command, `docker --help` prints Docker's own help.
  if (/^\s*gateway\b/mu.test(answer.out)) return undefined;
  return /\bUsage:\s+docker\b/u.test(answer.out)
    ? lacking('command', '')
    : lacking('sense', asked(helpWords));
}

function judgeInfo(answer: BriefAnswer, clean: Clean): DockerFinding | undefined {
  if ('unstartable' in answer) return lacking('program', clean(answer.unstartable));
  if ('isLate' in answer) return lacking('time', asked(infoWords));
  // Some versions fail to reach the daemon, print nothing and exit with 0.
  const out = answer.out.trim();
  if (answer.exitCode !== 0 || out === '') return lacking('daemon', clean(firstLine(answer.err)));
  return /^v?\d+\.\d+\S*$/u.test(out) ? undefined : lacking('sense', asked(infoWords));
}

function lacking(
  lack: Extract<DockerFinding, { readonly isThere: false }>['lack'],
  said: string,
): DockerFinding {
  return { isThere: false, lack, said };
}

function asked(words: readonly string[]): string {
  return ['docker', ...words].join(' ');
}

/** Docker's first line describes the problem; the others link to documentation. */
function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}

// One sentence from Docker.
const maxSaidLength = 200;

/** Runs `docker` with these arguments. */
function question(launch: StdioLaunch, { clock, signal, processes }: DockerCheckPorts): BriefRun {
  const kept = signal.aborted ? undefined : processes?.expect('docker');
  return runBriefly(launch, { clock, signal, limitMs: dockerAnswerMs, kept });
}
