import { generateKeyPairSync } from 'node:crypto';
import os from 'node:os';
import { parentPort } from 'node:worker_threads';

// A thread that makes RSA keys: it is sent their bits, one key at a time. It takes what requests leave of a processor:
// on Linux this is the priority of the thread, elsewhere it would be that of the process.
if (process.platform === 'linux') os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL);

parentPort!.on('message', (modulusLength: number) => {
  parentPort!.postMessage(generateKeyPairSync('rsa', { modulusLength }).privateKey);
});
