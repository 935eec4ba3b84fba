import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { Load } from '../src/load';

interface Settings {
  url: string;
  load: Load;
  connections: number;
  seconds: number;
  start: number;
}

const { url, load, connections, seconds, start }: Settings = JSON.parse(readFileSync(0, 'utf8'));
let n = start;
let at = 0;

/** Sets the path and number of the next request; all connections share the sequence of both. */
function next(request: autocannon.Request): autocannon.Request {
  const number = String(++n);
  const path = load.paths[at++ % load.paths.length] as string;
  return { ...request, path: path.replaceAll('{n}', number), body: load.body?.replaceAll('{n}', number) };
}

async function main() {
  const method = load.method as autocannon.Request['method'];
  const result = await autocannon({
    url,
    connections,
    duration: Math.max(1, seconds),
    headers: load.headers,
    requests: [{ method, setupRequest: next }],
  });
  const failed = result.non2xx + result.errors + result.timeouts;
  console.log(
    JSON.stringify({
      requestsPerSecond: result.requests.total / result.duration,
      requests: result.requests.total,
      p50Ms: result.latency.p50,
      p99Ms: result.latency.p99,
      errors: failed,
    }),
  );
}

void main();
