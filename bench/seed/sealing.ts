import { parentPort, workerData } from 'node:worker_threads';
import { CopyRows } from './copy-rows';
import { openService } from './kernel';
import { seeded, type What } from './tables';

/** The range of rows for a thread. */
export interface Portion {
  readonly what: What;
  readonly from: number;
  readonly to: number;
}

/** The input of a thread. */
export interface SealingData {
  readonly ownerHash: Uint8Array;
  readonly due: number;
}

/** A thread that generates rows: it answers requests for portions with their bytes, in order. */
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
      const pending = row(rows, n, { kernel, owner, due });
      if (pending) await pending;
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
