/**
 * Adds to package-lock.json the binaries of other platforms that npm left out.
 *
 * npm drops an optional package from the lock file when it cannot look the package up
 * while locking, and `npm ci` then refuses the whole file, on every platform. The
 * parents name the exact versions, and the package names the platform; so the
 * entries can be written without asking anyone. They carry no checksum, and
 * `npm ci` never fetches one that is made for another platform.
 */

import { readFile, writeFile } from 'node:fs/promises';

interface LockedPackage extends Partial<Platform> {
  readonly version?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Platform {
  readonly os: readonly string[];
  readonly cpu: readonly string[];
  readonly libc?: readonly string[];
}

type LockedPackages = Record<string, LockedPackage>;

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32'];
const processors = ['arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'x64'];

/** Reads the platform out of a name such as `@oxlint/binding-linux-arm-gnueabihf`. */
function platformOf(name: string): Platform | undefined {
  const words = name.split(/[/-]/);
  const os = systems.find((system) => words.includes(system));
  const cpu = processors.find((processor) => words.includes(processor));
  if (os === undefined || cpu === undefined) return undefined;
  const usesMusl = words.some((word) => word.startsWith('musl'));
  return { os: [os], cpu: [cpu], ...(os === 'linux' && { libc: [usesMusl ? 'musl' : 'glibc'] }) };
}

/** Tells whether Node would find the package from the given place in the tree. */
function isLocked(packages: LockedPackages, place: string, name: string): boolean {
  const folders = place.split('/node_modules/');
  return (
    Object.hasOwn(packages, `node_modules/${name}`) ||
    folders.some((_, depth) =>
      Object.hasOwn(
        packages,
        `${folders.slice(0, depth + 1).join('/node_modules/')}/node_modules/${name}`,
      ),
    )
  );
}

/** Lists the entries that are missing; versions that are not exact are left to npm. */
function missingPackages(packages: LockedPackages): LockedPackages {
  const missing: LockedPackages = {};
  for (const [place, parent] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const platform = platformOf(name);
      const isExact = /^\d+\.\d+\.\d+[\w.+-]*$/.test(version);
      if (platform === undefined || !isExact || isLocked(packages, place, name)) continue;
      // The fields stand in the order of npm, which would otherwise move them later.
      missing[`node_modules/${name}`] = {
        version,
        cpu: platform.cpu,
        ...(parent.dev === true && { dev: true }),
        ...(platform.libc !== undefined && { libc: platform.libc }),
        optional: true,
        os: platform.os,
      };
    }
  }
  return missing;
}

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(await readFile(file, 'utf8')) as { packages: LockedPackages };
const missing = missingPackages(lock.packages);
const packages = Object.entries({ ...lock.packages, ...missing }).sort(([one], [other]) =>
  one.localeCompare(other, 'en'),
);
await writeFile(
  file,
  `${JSON.stringify({ ...lock, packages: Object.fromEntries(packages) }, null, 2)}\n`,
);
console.log(`${Object.keys(missing).length} packages added to package-lock.json`);
