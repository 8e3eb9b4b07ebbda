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
import ts from 'typescript';

import { root, writeOrCheck } from './generated-files.ts';

const reports = [
  { entry: 'dist/src/index.d.ts', path: 'docs/api.md' },
  { entry: 'dist/src/inspection.d.ts', path: 'docs/api/inspection.md' },
  { entry: 'dist/src/login.d.ts', path: 'docs/api/login.md' },
  { entry: 'dist/src/settings/index.d.ts', path: 'docs/api/settings.md' },
  { entry: 'dist/src/testing/index.d.ts', path: 'docs/api/testing.md' },
];

/** The names that the entries export together; one that another entry exports is not forgotten. */
function namesOf(entries: readonly string[]): ReadonlySet<string> {
  const program = ts.createProgram(
    entries.map((entry) => path.join(root, entry)),
    {},
  );
  const checker = program.getTypeChecker();
  const exported = entries.flatMap((entry) => {
    const source = program.getSourceFile(path.join(root, entry));
    const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
    return module === undefined ? [] : checker.getExportsOfModule(module);
  });
  return new Set(exported.map(({ name }) => name));
}

const names = namesOf(reports.map(({ entry }) => entry));
const forgotten =
  /^(?: *\/\/ Warning: |\/\/ dist\/\S+ - )\(ae-forgotten-export\) The symbol "(\w+)" .*\n(?: *\/\/\n)?/gmu;

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
  return text.replaceAll(forgotten, (warning, name: string) => (names.has(name) ? '' : warning));
}

await writeOrCheck(
  reports.map(({ entry, path: report }) => ({ path: report, update: () => reportOf(entry) })),
  'run `npm run api`, and add a changeset if callers notice it',
);
