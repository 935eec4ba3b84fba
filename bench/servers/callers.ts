import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** A crowd: `count` callers, each on a separate connection, who arrive within `withinMs`. */
export interface Crowd {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly count: number;
  readonly withinMs: number;
}

/** Resolves once the caller was answered with a success. */
function call({ url, headers }: Crowd): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent: false }, (answer) => {
      answer.resume();
      answer.on('error', reject);
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve();
        else reject(new Error(`answered ${answer.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}

/** Sends the parent's calls, reports when all are answered, and ends. */
process.once('message', async (crowd: Crowd) => {
  const { count, withinMs } = crowd;
  const calls = Array.from({ length: count }, async (_, n) => {
    if (withinMs > 0) await sleep((n * withinMs) / count);
    await call(crowd);
  });
  await Promise.all(calls);
  process.send?.('done');
  process.disconnect();
});
process.send?.('ready');
