/** Flags of Node with which a program runs from its sources, those that it imports late included; from any folder. */
export const fromSource: readonly string[] = ['--conditions=source', '--import', require.resolve('tsx')];
