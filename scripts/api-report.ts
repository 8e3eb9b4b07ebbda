/**
 * Writes the public interface of the package as text: `npm run api`. With `--check`
 * it changes nothing, names the stale reports and exits with 1 when there are any.
 *
 * It reads `dist/`, so the package has to be built first.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig, ExtractorMessageCategory } from '@microsoft/api-extractor';

const root = fileURLToPath(new URL('..', import.meta.url));
const reports = [
  { entry: 'dist/src/index.d.ts', report: 'docs/api.md' },
  { entry: 'dist/src/testing/index.d.ts', report: 'docs/api-testing.md' },
];

/** Makes the report of one entry point; undefined when its declarations have a fault. */
async function reportOf(entry: string, folder: string): Promise<string | undefined> {
  const configObjectFullPath = path.join(root, 'api-extractor.json');
  const base = ExtractorConfig.loadFile(configObjectFullPath);
  const config = ExtractorConfig.prepare({
    configObject: {
      ...base,
      projectFolder: root,
      mainEntryPointFilePath: path.join(root, entry),
      apiReport: {
        enabled: true,
        reportFileName: 'report',
        reportFolder: folder,
        reportTempFolder: path.join(folder, 'temp'),
      },
    },
    configObjectFullPath,
    packageJsonFullPath: path.join(root, 'package.json'),
  });
  const { errorCount } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      // The file in the temporary folder is always new.
      if (message.category === ExtractorMessageCategory.Console) message.handled = true;
    },
  });
  if (errorCount > 0) return undefined;
  return readFile(path.join(folder, 'report.api.md'), 'utf8');
}

const isCheck = process.argv.includes('--check');
for (const { entry, report } of reports) {
  const folder = await mkdtemp(path.join(tmpdir(), 'api-report-'));
  const text = await reportOf(entry, folder);
  await rm(folder, { recursive: true });
  const file = path.join(root, report);
  if (text === undefined) {
    console.error(`no report of ${entry}: its faults are above`);
    process.exitCode = 1;
  } else if (!isCheck) {
    await writeFile(file, text);
    console.log(`written: ${report}`);
  } else if (text !== (await readFile(file, 'utf8').catch(() => ''))) {
    console.error(
      `stale: ${report} (run \`npm run api\`, and add a changeset if callers notice it)`,
    );
    process.exitCode = 1;
  }
}
