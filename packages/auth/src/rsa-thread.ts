import { generateKeyPairSync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

// A thread that makes RSA keys: it is sent their bits, one key at a time.
parentPort!.on('message', (modulusLength: number) => {
  parentPort!.postMessage(generateKeyPairSync('rsa', { modulusLength }).privateKey);
});
