import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { mutantsByRow } from '../mutants/results';
import { provenIn, readConformance, renderConformance } from './report';

// `pnpm conformance`: writes docs/internals/conformance.md. Fails if rows have lost their proof, unless --allow-fewer
// is given.
const root = resolve(__dirname, '../../..');
const target = join(root, 'docs/internals/conformance.md');
const conformance = readConformance(root);
const document = renderConformance(conformance, mutantsByRow(root, conformance));
const before = provenIn(existsSync(target) ? readFileSync(target, 'utf8') : '');
const after = provenIn(document);
const lost = [...before].filter((id) => !after.has(id));

for (const mistake of conformance.mistakes) console.error(mistake);
if (lost.length > 0 && !process.argv.includes('--allow-fewer')) {
  console.error(`no test covers these rows now: ${lost.join(', ')}; restore the tests, or add --allow-fewer`);
  process.exitCode = 1;
} else {
  writeFileSync(target, document);
  console.log(`docs/internals/conformance.md: ${after.size} rows proven (${before.size} before)`);
}
if (conformance.mistakes.length > 0) process.exitCode = 1;
