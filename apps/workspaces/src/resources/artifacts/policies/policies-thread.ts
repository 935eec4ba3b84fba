import { parentPort, workerData } from 'node:worker_threads';
import type { DeclaredPolicies } from './policy-files';

// Declared here instead of imported, because its types would add browser types to every file.
const { parse } = require('@cdktn/hcl2json') as { parse(file: string, text: string): Promise<unknown> };

async function declaredIn(files: ReadonlyMap<string, Uint8Array>): Promise<DeclaredPolicies> {
  const declared: DeclaredPolicies['policies'][number][] = [];
  for (const [file, bytes] of files) {
    const read = (await parse(file, Buffer.from(bytes).toString('utf8'))) as { policy?: Record<string, object[]> };
    for (const [name, blocks] of Object.entries(read.policy ?? {})) {
      for (const block of blocks) declared.push({ ...block, name });
    }
  }
  return { policies: declared };
}

declaredIn(workerData as ReadonlyMap<string, Uint8Array>).then(
  (found) => parentPort!.postMessage(found),
  (error: Error) => parentPort!.postMessage(`the policies cannot be read: ${error.message.slice(0, 1000)}`),
);
