import { generateKeyPairSync } from 'node:crypto';
import { parentPort } from 'node:worker_threads';

// A thread that generates RSA keys. Each message is the length of one key in bits.
parentPort!.on('message', (modulusLength: number) => {
  parentPort!.postMessage(generateKeyPairSync('rsa', { modulusLength }).privateKey);
});
