// The client program of the conformance suite. Loading the library for each of seventy scenarios would
// take a minute, so this asks the process that runs the suite to be the client, and exits with its result.
const { CONFORMANCE_HOST: host, MCP_CONFORMANCE_SCENARIO: scenario } = process.env;
const { MCP_CONFORMANCE_PROTOCOL_VERSION: revision, MCP_CONFORMANCE_CONTEXT: context } =
  process.env;
const body = JSON.stringify({ url: process.argv[2], scenario, revision, context });
const response = await fetch(host, { method: 'POST', body });
process.stderr.write(await response.text());
process.exitCode = response.ok ? 0 : 1;
