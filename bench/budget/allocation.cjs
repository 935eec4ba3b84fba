// Loaded before a service: SIGUSR2 starts to count allocated bytes; the next one writes their sum, and the bytes of
// each function, to a file named by the process id in BENCH_ALLOCATION_FOLDER.
const { writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const path = require('node:path');

const session = new Session();
let counting = false;

function count(node, bytes) {
  const { functionName, url, lineNumber } = node.callFrame;
  const name = `${functionName || '(anonymous)'} ${url.split('/').slice(-3).join('/')}:${lineNumber + 1}`;
  bytes[name] = (bytes[name] ?? 0) + node.selfSize;
  for (const child of node.children) count(child, bytes);
  return bytes;
}

process.on('SIGUSR2', () => {
  counting = !counting;
  if (counting) {
    session.connect();
    const collected = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true };
    session.post('HeapProfiler.startSampling', { samplingInterval: 16_384, ...collected });
    return;
  }
  session.post('HeapProfiler.stopSampling', (_error, { profile }) => {
    session.disconnect();
    writeFileSync(
      path.join(process.env.BENCH_ALLOCATION_FOLDER, String(process.pid)),
      JSON.stringify(count(profile.head, {})),
    );
  });
});
