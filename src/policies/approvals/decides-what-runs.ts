/**
 * Recognizes environment variables that make programs load code or configuration,
 * find other programs, or fetch packages from elsewhere.
 *
 * The rule has two uses: an approval request warns about such a name, and a folder's
 * variables file may not set it. It matches families and endings rather than a list of
 * known names, because every tool adds its own.
 */

// Every variable of these programs can decide what they run or load.
const families = [
  'LD|DYLD|BASH|XDG|NPM_CONFIG|YARN|PNPM|COREPACK|BUN|DENO|TS_NODE|PIP|UV|GEM|BUNDLE',
  'CARGO|RUSTC|RUSTUP|GIT|DOCKER|DOTNET|LUA|OPENSSL|SSL_CERT|NODE_REPL|JULIA|GUILE|TCL|ERL|GCONV',
].join('|');

// Names that follow no pattern, and families with harmless members.
const single = [
  'PATH|PATHEXT|COMSPEC|SHELL|ENV|IFS|HOME|HOMEPATH|HOMEDRIVE|USERPROFILE|(?:LOCAL)?APPDATA',
  'PROMPT_COMMAND|PS4|ZDOTDIR|EDITOR|VISUAL|PAGER|BROWSER|CLASSPATH|LESSOPEN|LESSCLOSE|MAKEFLAGS',
  'NODE_(?:OPTIONS|PATH|EXTRA_CA_CERTS|TLS_REJECT_UNAUTHORIZED)|PHP_INI_SCAN_DIR|LOCPATH',
  'PYTHON(?!(?:UNBUFFERED|IOENCODING|UTF8|DONTWRITEBYTECODE)$).*',
  'PERL5.*|(?:MAN|SYSTEMD_)PAGER|RUBY(?:OPT|LIB|PATH|SHELL).*|GO(?:PROXY|FLAGS|SUMDB|NOSUMDB|PRIVATE|PATH|ROOT|ENV|TOOLCHAIN)|RUSTFLAGS',
  'R_(?:PROFILE|ENVIRON|LIBS)(?:_.*)?|(?:PHP|INPUT|WGET|CURL|NET|BASH|NPM|VIM|MYVIM|SCREEN)RC|CURL_HOME|NETRC',
].join('|');

const endings = [
  '_(?:OPTIONS|OPTS|PRELOAD|INIT|STARTUP|REQUIRE|LOADER|PLUGINS?|HOME|CONF|RCFILE)',
  'CONFIG(?:_(?:FILE|PATH|DIR|HOME|GLOBAL|SYSTEM))?',
  '_(?:PROXY|REGISTRY|INDEX_URL|EDITOR|PAGER|BROWSER|ASKPASS|SHELL|COMMAND|CMD|EXEC|WRAPPER|HOOK)',
  '(?:LIB|LIBRARY|LOAD|MODULES?|PLUGINS?|EXTENSIONS?|TYPELIB)_?(?:PATH|DIR)S?',
].join('|');

const decisive = new RegExp(`^(?:(?:${families})_.*|${single}|.*(?:${endings}))$`, 'iu');

/** Returns whether every program and shell reads a name as that of a plain variable. */
export function isPlainVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name);
}

/** Returns whether setting this variable can change which code or configuration a program loads. */
export function decidesWhatRuns(name: string): boolean {
  // Bash imports functions from names such as `BASH_FUNC_ls%%`.
  return !isPlainVariable(name) || decisive.test(name);
}
