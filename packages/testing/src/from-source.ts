import path from 'node:path';

const loader = path.resolve(__dirname, '../jest/from-source.cjs');

/** Node flags to run a program from its sources, including those it imports later, from any folder. */
export const fromSource: readonly string[] = ['--conditions=source', '--require', loader];
