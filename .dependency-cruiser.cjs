/**
 * Which folder may import which. The table is section 2 of the design. Imports point up that table
 * only, so a folder can be read and tested without those below it.
 *
 * Type-only imports count: a cycle of types is as hard to read as a cycle of values.
 */

/** Our own folders, so that a rule can say "nothing else of ours". */
const ours = '^(src|machines|actors|test|scripts|examples|visualizations)/';
const shipped = '^(src|machines|actors|visualizations/server)/';
const faces = 'src/gateway|src/cli|src/adapters|src/testing|visualizations/server';

/** Folder by folder: the only folders of ours that it may import. */
const allowed = [
  { folder: '^src/domain/', name: 'domain', may: ['^src/domain/'] },
  { folder: '^src/protocol/', name: 'protocol', may: ['^src/(protocol|domain)/'] },
  { folder: '^src/policies/', name: 'policies', may: ['^src/(policies|protocol|domain)/'] },
  {
    folder: '^src/settings/',
    name: 'settings',
    may: ['^src/(settings|domain|protocol|policies)/'],
  },
  {
    folder: '^machines/',
    name: 'machines',
    may: ['^machines/', '^src/(domain|protocol|policies)/'],
  },
  {
    folder: '^actors/',
    name: 'actors',
    // The settings actor parses text with src/settings; machines as types only, see below.
    may: ['^actors/', '^src/(domain|protocol|policies|settings)/', '^machines/'],
  },
  {
    folder: '^src/recorder/',
    name: 'recorder',
    may: ['^src/(recorder|domain|protocol|policies)/', '^machines/', '^actors/'],
  },
  {
    folder: '^src/runtime/',
    name: 'runtime',
    may: ['^src/(runtime|recorder|domain|protocol|policies|settings)/', '^machines/', '^actors/'],
  },
  {
    folder: '^visualizations/(?!server/)',
    name: 'visualizations',
    // A page that applies records does so as the recorder does.
    may: ['^visualizations/(?!server/)', '^src/(domain|policies)/', '^src/recorder/picture\\.ts$'],
  },
];

/** Packages that a folder may import; folders not named here may import any dependency. */
const packages = [
  { folder: '^src/domain/', name: 'domain', may: [] },
  // Of the SDK, types only, which a rule below holds.
  { folder: '^src/protocol/', name: 'protocol', may: ['@modelcontextprotocol/client'] },
  { folder: '^src/policies/', name: 'policies', may: ['canonicalize', 'fast-deep-equal'] },
  { folder: '^machines/', name: 'machines', may: ['xstate'] },
];

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files that import each other can only be understood together.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-cycles-between-folders',
      comment: 'Folders that import each other belong together.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    ...allowed.map(({ folder, name, may }) => ({
      name: `layer-${name}`,
      comment: `${name} may import only: ${may.join(' ')}`,
      severity: 'error',
      from: { path: folder },
      to: { path: ours, pathNot: may },
    })),
    ...packages.map(({ folder, name, may }) => ({
      name: `packages-of-${name}`,
      comment: `${name} may import only these packages: ${may.join(' ') || 'none'}`,
      severity: 'error',
      from: { path: folder },
      to: {
        path: 'node_modules/',
        pathNot: may.map((packageName) => `node_modules/${packageName}/`),
      },
    })),
    {
      name: 'protocol-sees-the-sdk-as-types',
      comment:
        'What we read and write of MCP is our own; only the names of its types are the SDK’s.',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: { path: 'node_modules/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'actors-see-machines-as-types',
      comment:
        'An actor that starts a chart would decide; only the runtime joins the two. A stored file runs its own chart: commands without a runtime read and change it too.',
      severity: 'error',
      from: { path: '^actors/', pathNot: '^actors/stores/record-file\\.ts$' },
      to: { path: '^machines/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'pure-folders-touch-no-system',
      comment: 'Machines, domain and protocol reach no file, process, network or clock.',
      severity: 'error',
      from: { path: '^(machines|src/domain|src/protocol)/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'policies-touch-no-system',
      comment: 'Of Node itself, policies may use the hash function only.',
      severity: 'error',
      from: { path: '^src/policies/' },
      to: { dependencyTypes: ['core'], pathNot: ['^(node:)?crypto$'] },
    },
    {
      name: 'settings-take-text',
      comment: 'Settings come in as text; reading files and asking programs is for actors.',
      severity: 'error',
      from: { path: '^src/settings/' },
      to: { dependencyTypes: ['core'], pathNot: ['^(node:)?(path|url)$'] },
    },
    {
      name: 'faces-stand-alone',
      comment: 'The faces of the runtime do not import one another; what serves one starts it.',
      severity: 'error',
      from: {
        path: `^(${faces})/`,
        pathNot:
          '^src/cli/(commands/(charts|serve|replay)|run/inspect-here|background/(attached-gateway|thin-gateway))\\.ts$',
      },
      to: { path: `^(${faces})/`, pathNot: ['^$1/'] },
    },
    {
      name: 'adapters-use-the-public-face',
      comment: 'An adapter needs only what authors of other adapters can use too.',
      severity: 'error',
      from: { path: '^src/adapters/' },
      to: { path: ours, pathNot: ['^src/adapters/', '^src/index\\.ts$'] },
    },
    {
      name: 'shipped-without-tests-and-scripts',
      comment: 'What is published must not need what is not.',
      severity: 'error',
      from: { path: shipped },
      to: { path: '^(test|scripts|examples)/' },
    },
    {
      name: 'shipped-without-dev-packages',
      comment:
        'A dev dependency is missing where the package is installed. An optional peer may be missing; its importer handles that.',
      severity: 'error',
      from: { path: shipped },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'A package that package.json does not name is installed by chance.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'no-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
