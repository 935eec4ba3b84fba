import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An address to read, over one kept connection. */
export interface Read {
  readonly url: string;
  readonly headers: Record<string, string>;
}

let times: number[] = [];

function read({ url, headers }: Read, agent: http.Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { headers, agent }, (answer) => {
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

/** Reads the address every few milliseconds; each later message is answered with the times since the last, in ms. */
process.once('message', async (what: Read) => {
  process.on('message', () => {
    process.send?.(times);
    times = [];
  });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const start = performance.now();
    await read(what, agent);
    times.push(performance.now() - start);
    await sleep(3);
  }
});

process.send?.('ready');
