/**
 * Writes the public interface of the package as text: `npm run api`. With `--check`
 * it changes nothing, names the stale reports and exits with 1 when there are any.
 *
 * It reads `dist/`, so the package has to be built first.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Extractor, ExtractorConfig, ExtractorMessageCategory } from '@microsoft/api-extractor';

import { root, writeOrCheck } from './generated-files.ts';

const reports = [
  { entry: 'dist/src/index.d.ts', path: 'docs/api.md' },
  { entry: 'dist/src/testing/index.d.ts', path: 'docs/api-testing.md' },
];

async function reportOf(entry: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'api-report-'));
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
  const text = await readFile(path.join(folder, 'report.api.md'), 'utf8');
  await rm(folder, { recursive: true });
  if (errorCount > 0) throw new Error(`no report of ${entry}: its faults are above`);
  return text;
}

await writeOrCheck(
  reports.map(({ entry, path: report }) => ({ path: report, update: () => reportOf(entry) })),
  'run `npm run api`, and add a changeset if callers notice it',
);
