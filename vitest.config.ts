import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { closingLineReporter } from './test/support/closing-line-reporter.ts';

/** Path of a file of this repository, for any working directory. */
const here = (path: string): string => new URL(path, import.meta.url).pathname;

/**
 * Vitest takes XState's development build, which warns and throws where the build of
 * plain Node, which all callers have, is silent. This mode takes the latter, and XState's own steps
 * instead of cached ones: `npm run test:xstate-production`.
 */
const xstateProductionMode = 'xstate-production';
const xstateProduction = [
  // Nothing has set Vitest's conditions here, so this is what a caller's Node finds.
  { find: /^xstate$/, replacement: fileURLToPath(import.meta.resolve('xstate')) },
  {
    find: /^.*[/]xstate[/]with-actors[.]ts$/u,
    replacement: here('test/machines/xstate/own-steps.ts'),
  },
];

/**
 * How the tests are run: most files share processes, because starting a process and loading all
 * modules for each file takes longer than most tests; those that replace modules or watch their own
 * process have a process each.
 */
type ProjectName = 'shared' | 'apart';

interface Tests {
  readonly include: string[];
  readonly exclude?: string[];
}

const apart = [
  'test/actors/processes/**/*.test.ts',
  'test/runtime/{abrupt-ends,killed-host,starved-host,options/untouched-paths}.test.ts',
];
// Those that need a browser have a configuration of their own: `npm run test:browser`.
const everything: Readonly<Record<ProjectName, Tests>> = {
  shared: { include: ['test/**/*.test.ts'], exclude: [...apart, 'test/browser/**'] },
  apart: { include: apart },
};

/** Which tests a mode runs; a second run leaves out what cannot differ. */
const testsOf: Readonly<Record<string, Partial<Record<ProjectName, Tests>>>> = {
  // Charts run in these folders alone, and a process of its own has XState's production build in
  // every run; policies are there because this run counts branches. The searches and random walks take the transitions that traces and reply tables
  // take, and compare both kinds of steps themselves; charts are drawn and linted from their
  // configuration, which is the same in both builds.
  [xstateProductionMode]: {
    shared: {
      include: [
        'test/{domain,machines,policies,protocol,recorder,runtime,testing}/**/*.test.ts',
        'test/package/surroundings.test.ts',
      ],
      exclude: [
        ...apart,
        'test/runtime/**/*-real.test.ts',
        'test/runtime/{broken-pipes,real-clock,stopping-children,transports}.test.ts',
        'test/machines/**/{explore,properties}.test.ts',
        'test/machines/{chart-facts,diagrams,lint,pictures,random-walks}.test.ts',
        'test/runtime/{reconcile,simulation,explain/guards}.test.ts',
      ],
    },
  },
  // What differs between versions of Node: processes, signals, sockets, fetch, files and clocks; and
  // the command line once, with real servers.
  node24: {
    shared: {
      include: [
        'test/actors/{files,host,transports}/**/*.test.ts',
        'test/actors/session/{modern-session,real-servers,session}.test.ts',
        'test/actors/settings/files.test.ts',
        'test/actors/stores/{approvals,results}.test.ts',
        'test/cli/new-user.test.ts',
        'test/gateway/{http-gateway,http-limits,listening,stdio-outbox}.test.ts',
        'test/visualizations/server/inspector-server.test.ts',
        'test/package/{bundle,surroundings}.test.ts',
        'test/recorder/journal.test.ts',
        'test/runtime/{broken-pipes,real-clock,stopping-children,transports}.test.ts',
      ],
    },
    apart: {
      include: ['test/actors/processes/**/*.test.ts', 'test/runtime/starved-host.test.ts'],
    },
  },
};

/** Take seconds on one core, so they begin first; otherwise the run may end with one core idle. */
const slowFiles = /[/](?:explore|simulation|executions)[.]test[.]ts$/u;

/** Runs one project after another, since only the files of one share a process; in random order within each. */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { seed } = this.ctx.config.sequence;
    const placeOf = ({ project, moduleId }: TestSpecification): string =>
      project.name +
      (slowFiles.test(moduleId) ? 0 : 1) +
      createHash('sha256').update(`${seed} ${moduleId}`).digest('hex');
    return files.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  }
}

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^mcp-troupe\/testing$/, replacement: here('src/testing/index.ts') },
      { find: /^mcp-troupe\/(ai-sdk|langchain|openai)$/, replacement: here('src/adapters/$1.ts') },
      { find: /^mcp-troupe$/, replacement: here('src/index.ts') },
      ...(mode === xstateProductionMode ? xstateProduction : []),
    ],
  },
  test: {
    projects: Object.entries(testsOf[mode] ?? everything).map(
      ([name, { include, exclude = [] }]) => ({
        extends: true as const,
        // Vitest reads this file again for each project, otherwise with mode `test` and so without aliases.
        mode,
        test: {
          name,
          include,
          exclude,
          isolate: name === 'apart', // A troupe in the background outlives the test that started it; the tests of it unset this.
          env: { MODE: mode, MCP_TROUPE_NO_BACKGROUND: '1' },
        },
      }),
    ),
    globalSetup: here('test/support/compiled-folder.ts'),
    // A test that needs another to run before it is broken; a new order every run finds it.
    sequence: { shuffle: true, sequencer: ByProject },
    // Processes, not threads: the tests signal children and change directories, and a process
    // that cannot be ended politely can still be killed.
    pool: 'forks',
    // Twice CI's cores, because half of the files mostly wait for processes. Those of the production
    // build never wait; they and those on Node 24 run beside other parts.
    maxWorkers: { [xstateProductionMode]: 1, node24: 2 }[mode] ?? 4,
    // Ends only what hangs: tests wait on events, and the longest start dozens of processes, which
    // takes twenty seconds, and several times as long on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    teardownTimeout: 5_000,
    allowOnly: false,
    passWithNoTests: false,
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    reporters: ['default', closingLineReporter()],
    coverage: {
      provider: 'v8',
      // Counting slows every file by a third, and these tests alone reach every branch.
      enabled: mode === xstateProductionMode,
      // Only what must be covered is measured: these folders are pure and tested alone.
      include: ['machines/**/*.ts', 'src/{domain/data,policies,protocol}/**/*.ts'],
      reporter: [['text', { skipFull: true }], 'html'],
      thresholds: {
        'machines/**': { branches: 100 },
        'src/domain/data/**': { branches: 100 },
        'src/policies/**': { branches: 100 },
        'src/protocol/{argument-headers,handshake,headers,meta,methods}.ts': { branches: 100 },
      },
    },
  },
}));
