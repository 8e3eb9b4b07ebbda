import { compiledProgram, type Program } from '../support/compiled-program.ts';

/** The command line as `npm start` runs it: each file is compiled when it is loaded. */
export const cliFromSources: Program = { words: ['--import', 'tsx', 'src/cli/main.ts'] };

/** The command line, compiled before the file's first test and removed after its last. */
export const compiledCli = (): Program => compiledProgram('src/cli/main.ts');
