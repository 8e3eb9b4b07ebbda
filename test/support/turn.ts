/** The next turn of the event loop, after every promise that can settle in this one. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
