import { setImmediate as breathe } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { configurationImport, planImport, stateImport } from './imports';
import type { PlanDocument } from './plan-document';
import { assignments } from './sentinel-text';

/** The function of `tfconfig/v2`: an address without the indexes of its resource and modules. */
const stripIndex = `
strip_index = func(addr) {
	pieces = strings.split(addr, "[")
	kept = []
	for pieces as i, piece {
		ends = strings.split(piece, "]")
		if i is 0 {
			append(kept, piece)
		} else if length(ends) > 1 {
			append(kept, ends[length(ends)-1])
		}
	}

	return strings.join(kept, "")
}
`;

const fileOf = { 'tfconfig/v2': 'tfconfig-v2', 'tfplan/v2': 'tfplan-v2', 'tfstate/v2': 'tfstate-v2', tfrun: 'tfrun' };

/** The policy tool's mapping from each import to the file that provides it. */
const mapping = Object.entries(fileOf)
  .map(([name, file]) => `mock "${name}" {\n  module {\n    source = "mock-${file}.sentinel"\n  }\n}\n`)
  .join('\n');

/** A gzip tar of the files that policies import: a plan without sensitive values, and the data of its run. */
export async function* bundle(
  plan: PlanDocument,
  run: Readonly<Record<string, unknown>>,
  at: Date,
): AsyncGenerator<Buffer> {
  const archive = pack();
  const packed = archive.pipe(createGzip());
  // The files are rendered one after the other, so that other requests run in between.
  const filling = (async () => {
    const files: [string, () => string][] = [
      ['mock-tfconfig-v2.sentinel', () => `import "strings"\n\n${assignments(configurationImport(plan))}${stripIndex}`],
      ['mock-tfplan-v2.sentinel', () => assignments(planImport(plan))],
      ['mock-tfstate-v2.sentinel', () => assignments(stateImport(plan))],
      ['mock-tfrun.sentinel', () => assignments(run)],
      ['sentinel.hcl', () => mapping],
    ];
    for (const [name, text] of files) {
      await breathe();
      archive.entry({ name, mtime: at, mode: 0o644 }, text());
    }
    archive.finalize();
  })();
  filling.catch((error: Error) => packed.destroy(error));
  for await (const piece of packed) yield piece as Buffer;
  await filling;
}
