import { generateKeyPair, type KeyObject } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { startThread } from './start-thread';
import { WorkTurns } from './work-turns';

// No other code may generate key pairs. Generating an RSA key takes seconds. Four at once would occupy all of Node's
// threads, which also write files, resolve names and compute logins to the database.

const generate = promisify(generateKeyPair);

/** Generates an Ed25519 or elliptic curve key, which takes less than a millisecond. */
export async function makeCurveKey(curve: string): Promise<KeyObject> {
  if (curve === 'ed25519') return (await generate(curve)).privateKey;
  return (await generate('ec', { namedCurve: curve })).privateKey;
}

/** Generates an RSA key in a separate thread. Throws `limited` if too many wait, or for too long. */
export const makeRsaKey = (bits: number): Promise<KeyObject> => rsaThreads.makeKey(bits);

/** Threads that generate RSA keys; started when they are needed, and replaced if they have ended. */
class RsaThreads {
  private readonly idle = new Set<Worker>();
  private readonly turns: WorkTurns;

  constructor(most: number) {
    this.turns = new WorkTurns({ atOnce: most, waiting: 64, waitMs: 30_000 }, 'RSA keys');
  }

  makeKey(bits: number): Promise<KeyObject> {
    return this.turns.run(async () => {
      const [thread = this.start()] = this.idle;
      this.idle.delete(thread);
      // The thread keeps the process alive only while it works.
      thread.ref();
      const key = await keyFrom(thread, bits);
      thread.unref();
      this.idle.add(thread);
      return key;
    });
  }

  private start(): Worker {
    const thread = startThread(path.join(__dirname, 'rsa-thread'));
    return thread.on('error', () => this.idle.delete(thread)).on('exit', () => this.idle.delete(thread));
  }
}

/** Half of the processors: the other half is for requests. */
const rsaThreads = new RsaThreads(Math.max(1, Math.floor(os.availableParallelism() / 2)));

function keyFrom(thread: Worker, bits: number): Promise<KeyObject> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the thread that generates RSA keys has ended'));
    thread.once('error', reject);
    thread.once('exit', ended);
    thread.once('message', (key: KeyObject) => {
      thread.off('error', reject);
      thread.off('exit', ended);
      resolve(key);
    });
    thread.postMessage(bits);
  });
}
