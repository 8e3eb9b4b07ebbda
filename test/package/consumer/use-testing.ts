// A caller who tests: time that moves when told to.
import assert from 'node:assert/strict';
import { createTroupe } from 'mcp-troupe';
import { VirtualClock } from 'mcp-troupe/testing';

const clock = new VirtualClock();
const fired: number[] = [];
clock.setTimeout(() => fired.push(clock.now()), 60_000);
clock.advanceBy(59_999);
assert.deepEqual(fired, []);
clock.advanceBy(1);
assert.deepEqual(fired, [60_000]);

// A troupe takes it for its own: no server, no waiting, nothing left behind.
const troupe = createTroupe({ clock, settings: { mcpServers: {} } });
assert.deepEqual(troupe.tools(), []);
await troupe.stop();
