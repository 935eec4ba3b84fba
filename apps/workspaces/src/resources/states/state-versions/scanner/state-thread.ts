import { parentPort } from 'node:worker_threads';
import { type Digest, StateDigest } from './state-reader';

/** Requests to the thread: continue to read a state, return the result, or drop it. */
export type Asked =
  | { readonly state: number; readonly run: Uint8Array }
  | { readonly state: number; readonly now: 'end' | 'forget' };
/** Responses of the thread, which answers each piece and each end, in order. */
export type Answered = { readonly state: number; readonly digest?: Digest };

const digests = new Map<number, StateDigest>();
const answer = (answered: Answered): void => parentPort!.postMessage(answered);

function digestOf(state: number): StateDigest {
  const existing = digests.get(state);
  if (existing) return existing;
  const digest = new StateDigest();
  digests.set(state, digest);
  return digest;
}

parentPort!.on('message', (request: Asked) => {
  const { state } = request;
  if ('run' in request) {
    digestOf(state).write(request.run);
    answer({ state });
    return;
  }
  if (request.now === 'end') answer({ state, digest: digestOf(state).end() });
  digests.delete(state);
});
