// Prints survivors immediately, so that you can write the test before the run ends.
import path from 'node:path';
import { nameOf } from './report.mjs';

const noticed = new Set(['Killed', 'Ignored']);

const factory = () => ({
  onMutantTested({ fileName, status, ...mutant }) {
    if (noticed.has(status)) return;
    process.stdout.write(`${status}: ${nameOf({ ...mutant, file: path.relative(process.cwd(), fileName) })}\n`);
  },
});
factory.inject = [];
export const strykerPlugins = [{ kind: 'Reporter', name: 'survivors', factory }];
