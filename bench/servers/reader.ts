import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { get, type Read } from './get';

let times: number[] = [];

/**
 * Reads an address every few milliseconds over one kept connection; each later message is answered with the durations
 * of the reads since the previous message, in ms.
 */
process.once('message', async (what: Read) => {
  process.on('message', () => {
    process.send?.(times);
    times = [];
  });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const start = performance.now();
    await get(what, agent);
    times.push(performance.now() - start);
    await sleep(3);
  }
});

process.send?.('ready');
