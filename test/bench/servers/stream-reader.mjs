/**
 * Reads the records of an inspector as its page does, and does nothing with them. Takes an address
 * that lets in, prints a line when the stream is open, and ends with its standard input.
 */

process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

const address = process.argv[2] ?? '';
const welcome = await fetch(address, { redirect: 'manual' });
const cookie = welcome.headers.get('set-cookie')?.split(';')[0] ?? '';
const stream = await fetch(new URL('/api/stream', address), { headers: { cookie } });
if (!stream.ok) throw new Error(`The inspector answered ${stream.status}.`);
console.log('open');
const reader = stream.body.getReader();
while (!(await reader.read()).done);
