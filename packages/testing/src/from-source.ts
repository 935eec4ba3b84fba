import path from 'node:path';

const loader = path.resolve(__dirname, '../jest/from-source.cjs');

/** Flags of Node with which a program runs from its sources, those that it imports late included; from any folder. */
export const fromSource: readonly string[] = ['--conditions=source', '--require', loader];
