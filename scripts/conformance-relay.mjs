// What the conformance suite starts as a client. To load the library anew for each of seventy scenarios
// would take a minute; so this only asks the run that started the suite to be the client, and ends as that did.
const { CONFORMANCE_HOST: host, MCP_CONFORMANCE_SCENARIO: scenario } = process.env;
const { MCP_CONFORMANCE_PROTOCOL_VERSION: revision, MCP_CONFORMANCE_CONTEXT: context } =
  process.env;
const body = JSON.stringify({ url: process.argv[2], scenario, revision, context });
const response = await fetch(host, { method: 'POST', body });
process.stderr.write(await response.text());
process.exitCode = response.ok ? 0 : 1;
