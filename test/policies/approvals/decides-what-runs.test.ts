import { describe, expect, it } from 'vitest';
import { decidesWhatRuns } from '../../../src/policies/approvals/decides-what-runs.ts';

describe('the rule for variables that load code or configuration', () => {
  it.each([
    ...['NODE_OPTIONS', 'LD_PRELOAD', 'DYLD_INSERT_LIBRARIES', 'PATH', 'Path', 'HOME', 'IFS'],
    ...['BASH_FUNC_dirname%%', 'BASH_ENV', 'ENV', 'ZDOTDIR', 'GIT_CONFIG_GLOBAL', 'GIT_SSH'],
    ...['npm_config_registry', 'NPM_CONFIG_USERCONFIG', 'PIP_INDEX_URL', 'UV_INDEX_URL'],
    ...['OPENSSL_CONF', 'TS_NODE_REQUIRE', 'KUBECONFIG', 'PHPRC', 'AWS_CONFIG_FILE', 'LUA_INIT'],
    ...['PYTHONPATH', 'PYTHONSTARTUP', 'RUBYOPT', 'PERL5LIB', 'JAVA_TOOL_OPTIONS', 'MAVEN_OPTS'],
    ...['JAVA_HOME', 'CLASSPATH', 'HTTPS_PROXY', 'no_proxy', 'QT_PLUGIN_PATH', 'GTK_MODULES_DIR'],
    ...['SSH_ASKPASS', 'MANPAGER', 'MY_TOOL_CONFIG', 'SOME_NEW_RUNTIME_OPTIONS', 'with space', 'é'],
  ])('covers %s', (name) => {
    expect(decidesWhatRuns(name)).toBe(true);
  });

  it.each([
    ...['API_KEY', 'GITHUB_TOKEN', 'DB_URL', 'DB_PATH', 'NODE_ENV', 'PORT', 'DEBUG', 'LANG', 'TZ'],
    ...['PYTHONUNBUFFERED', 'AWS_SECRET_ACCESS_KEY', 'FEATURE_FLAGS', 'LOG_LEVEL', 'DATA_DIR'],
  ])('ignores %s', (name) => {
    expect(decidesWhatRuns(name)).toBe(false);
  });
});
