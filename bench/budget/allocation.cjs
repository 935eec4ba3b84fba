// Loaded before a service: SIGUSR2 begins to count the bytes that are allocated, the next one writes their sum to the file
// that has the number of the process in BENCH_ALLOCATION_FOLDER.
const { writeFileSync } = require('node:fs');
const { Session } = require('node:inspector');
const path = require('node:path');

const session = new Session();
let counting = false;

const sizeOf = (node) => node.selfSize + node.children.reduce((sum, child) => sum + sizeOf(child), 0);

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
    writeFileSync(path.join(process.env.BENCH_ALLOCATION_FOLDER, String(process.pid)), String(sizeOf(profile.head)));
  });
});
