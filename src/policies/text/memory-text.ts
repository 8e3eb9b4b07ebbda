import type { MemoryUse } from '../../domain/host/status.ts';

/** An amount of memory as people read it: `8.4 MB`, `71 MB`, `1.2 GB`. */
export function memoryText(bytes: number): string {
  const [size, unit] = bytes < 999_500_000 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${size.toFixed(size < 9.95 ? 1 : 0)} ${unit}`;
}

/** The memory of a server, with the number of its processes if it has several. */
export function memoryUseText({ bytes, processCount }: MemoryUse): string {
  const processes = processCount === 1 ? '' : ` in ${processCount} processes`;
  return memoryText(bytes) + processes;
}
