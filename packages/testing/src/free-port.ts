import { createServer } from 'node:net';

// The ports are below the ephemeral ports, so that the system does not assign a free port to another program before the
// test uses it. Test files that run in parallel use separate ranges.
const FIRST = 20_000;
const PLACES = 24;
const PER_PLACE = 500;

const place = Number(process.env.JEST_WORKER_ID ?? process.pid) % PLACES;
let next = Math.floor(Math.random() * PER_PLACE);

/** A free port of the loopback address, for a program that needs its port as a setting. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + place * PER_PLACE + (next++ % PER_PLACE);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: '127.0.0.1', port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
