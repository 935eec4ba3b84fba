import { parentPort, workerData } from 'node:worker_threads';
import { CopyRows } from './copy-rows';
import { openService } from './kernel';
import { seeded, type What } from './tables';

/** Numbers of rows that a thread is to make. */
export interface Portion {
  readonly what: What;
  readonly from: number;
  readonly to: number;
}

/** What a thread is given at its start. */
export interface SealingData {
  readonly ownerHash: Uint8Array;
  readonly due: number;
}

/** One thread that makes rows: asked for portions, it answers with their bytes, in turn. */
async function main(): Promise<void> {
  const { ownerHash, due } = workerData as SealingData;
  const { kernel } = await openService();
  const owner = await kernel.tokens.findByHash(Buffer.from(ownerHash));
  if (!owner) throw new Error('the owner of what is seeded is gone');
  const rows = new CopyRows();
  let turn = Promise.resolve();
  const make = async ({ what, from, to }: Portion): Promise<void> => {
    const { row } = seeded[what];
    for (let n = from; n < to; n++) {
      const made = row(rows, n, { kernel, owner, due });
      if (made) await made;
    }
    const bytes = rows.take();
    parentPort!.postMessage(bytes, [bytes.buffer]);
  };
  parentPort!.on('message', (portion: Portion) => {
    turn = turn.then(() => make(portion));
  });
  parentPort!.postMessage('ready');
}

void main();
