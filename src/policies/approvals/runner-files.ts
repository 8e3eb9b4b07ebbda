/** The files of a folder that programs read there before they run anything, as paths with `/`. */

// A shim of asdf or mise may stand in for any of the programs.
export const shims = ['.tool-versions'];
const npmFiles = ['.npmrc', 'package.json', 'node_modules', 'node_modules/.bin/'];
const pyenvFiles = ['.python-version', '.python-versions'];
const venvFiles = ['.venv', '.venv/pyvenv.cfg', '.venv/bin/python', '.venv/Scripts/python.exe'];
const uvFiles = ['uv.toml', 'pyproject.toml', ...pyenvFiles];
const dotnetFiles = [
  ...['NuGet.Config', 'nuget.config', 'NuGet.config', 'global.json'],
  ...['.config/dotnet-tools.json', 'dotnet-tools.json'],
];
const composeFiles = [
  ...['compose', 'docker-compose'].flatMap((name) =>
    ['.yaml', '.yml', '.override.yaml', '.override.yml'].map((ending) => name + ending),
  ),
  '.env',
];

/** Those of programs whose other words matter too. */
export const files = {
  npm: npmFiles,
  pnpm: [
    ...[...npmFiles, 'package.yaml', 'package.json5', 'pnpm-workspace.yaml'],
    ...['.pnpmfile.cjs', '.pnpmfile.mjs'],
  ],
  yarn: [
    ...[...npmFiles, '.yarnrc', '.yarnrc.yml', '.pnp.cjs', '.pnp.loader.mjs'],
    ...['.yarn/releases/', '.yarn/plugins/', '.yarn/plugins/@yarnpkg/'],
  ],
  bun: [
    ...[...npmFiles, 'bunfig.toml', 'tsconfig.json', 'jsconfig.json'],
    ...['.env', '.env.local', '.env.development', '.env.production', '.env.test'],
  ],
  pyenv: pyenvFiles,
  uv: uvFiles,
  uvProject: [...uvFiles, 'uv.lock', 'setup.py', 'setup.cfg', ...venvFiles],
  dotnet: dotnetFiles,
  compose: composeFiles,
  typeScript: ['tsconfig.json'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Those of programs whose words do not matter. */
export const plainFiles: Readonly<Record<string, readonly string[]>> = {
  deno: [...npmFiles, 'deno.json', 'deno.jsonc', 'deno.lock'],
  dnx: dotnetFiles,
  jbang: [
    ...['jbang-catalog.json', '.jbang/jbang-catalog.json', 'build.jbang'],
    ...['jbang.properties', '.jbang/jbang.properties'],
  ],
  bundle: ['Gemfile', 'Gemfile.lock', 'gems.rb', 'gems.locked', '.bundle/config', '.ruby-version'],
  cargo: [
    ...['.cargo/config.toml', '.cargo/config', 'Cargo.toml', 'build.rs'],
    ...['rust-toolchain', 'rust-toolchain.toml'],
  ],
  go: ['go.mod', 'go.work'],
  make: ['GNUmakefile', 'makefile', 'Makefile'],
  just: ['justfile', 'Justfile', '.justfile', '.env'],
  rscript: ['.Rprofile', '.Renviron'],
  r: ['.Rprofile', '.Renviron'],
  'docker-compose': composeFiles,
  'podman-compose': composeFiles,
};

/** Those of programs that run the words that follow, as some of the words or as one string. */
export const wrapperFiles: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [
      ...['env', 'nice', 'ionice', 'nohup', 'time', 'timeout', 'stdbuf', 'setsid', 'sudo', 'doas'],
      ...['command', 'exec', 'xvfb-run', 'caffeinate', 'corepack', 'conda', 'mamba', 'micromamba'],
      ...['op', 'strace', 'ltrace', 'wsl', 'systemd-run', 'asdf', 'rustup', 'nvm', 'xargs'],
      ...['tini', 'dumb-init', 'runuser', 'su', 'gosu', 'firejail', 'bwrap', 'unshare', 'taskset'],
      // They serve a server that they start themselves.
      ...['supergateway', 'mcp-proxy', 'mcpo'],
    ].map((name) => [name, []]),
  ),
  mise: ['mise.toml', '.mise.toml', 'mise.local.toml', '.mise.local.toml'],
  direnv: ['.envrc', '.env'],
  dotenv: ['.env', '.env.local', '.env.vault'],
  volta: ['package.json'],
  fnm: ['package.json', '.node-version', '.nvmrc'],
  poetry: ['pyproject.toml', 'poetry.toml', 'poetry.lock', ...pyenvFiles, ...venvFiles],
  pipenv: ['Pipfile', 'Pipfile.lock', '.env', ...pyenvFiles, ...venvFiles],
  pdm: [
    ...['pyproject.toml', 'pdm.toml', '.pdm.toml', 'pdm.lock', '.pdm-python', '__pypackages__'],
    ...['.env', ...pyenvFiles, ...venvFiles],
  ],
  hatch: ['pyproject.toml', 'hatch.toml', ...pyenvFiles],
  rye: ['pyproject.toml', 'requirements.lock', ...pyenvFiles, ...venvFiles],
  pixi: ['pixi.toml', 'pixi.lock', 'pyproject.toml', '.pixi', '.pixi/config.toml'],
};

/** Programs by the names of their scripts, as `node` gets them. */
export const scriptPrograms: ReadonlyMap<string, string> = new Map([
  ['npx-cli.js', 'npx'],
  ['npm-cli.js', 'npm'],
  ['pnpm.cjs', 'pnpm'],
  ['pnpx.cjs', 'pnpx'],
  ['yarn.js', 'yarn'],
  ['corepack.js', 'corepack'],
]);

export const shells = /^(?:(?:ba|da|z|k|a|c|tc)?sh|fish|busybox|cmd|powershell|pwsh)$/u;

export const pythons = /^(?:python|pypy)\d*(?:\.\d+)*t?w?$|^pyw?$/u;

/** What follows `--` runs in a container or on another machine. */
export const elsewhere = /^(?:docker|podman|nerdctl|kubectl|oc|ssh|lxc)$/u;

/** Switches of Docker that take a value and come before its command. */
export const dockerTaking =
  /^(?:-[cHl]|--(?:config|context|host|log-level|connection|url|tls(?:cacert|cert|key)))$/u;

/** Switches of Node by what they take: in the same word, or else in the next one. */
export const nodeSwitches = {
  module: /^(?:-r|--(?:require|import|loader|experimental-loader))(?:=(.*))?$/su,
  code: /^(?:-(?:e|p|pe)|--(?:eval|print))(?:=(.*))?$/su,
  variables: /^--env-file(?:-if-exists)?(?:=(.*))?$/su,
  // Node has many that take a value, and gets new ones.
  mayTakeNext: /^(?:-(?:[reCp]|pe)|--[\w-]+)$/u,
} as const;

/** Switches, variables and commands before the name of a folder. */
export const folderSwitch =
  /^(?:-C|--(?:directory|project|prefix|cwd|dir|chdir)|cd|UV_PROJECT|UV_WORKING_DIR(?:ECTORY)?|npm_config_prefix|NPM_CONFIG_PREFIX)$/u;

// Without these, a package.json says what a project needs and not what a runner runs.
const ownKeys = ['bin', 'directories', 'workspaces', 'packageManager', 'devEngines', 'volta'];

/** The keys of a `package.json` that decide. */
export const manifestKeys = {
  packages: [...ownKeys, 'pnpm', 'bun'],
  scripts: [...ownKeys, 'pnpm', 'bun', 'scripts', 'config'],
  modules: ['imports', 'exports'],
} as const;
