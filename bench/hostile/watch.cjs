// Loaded before a service: records every long turn of its event loop, in wall time and, if the system reports it
// (Linux), in processor time of the main thread, which a busy machine does not lengthen.
const { appendFileSync, openSync, readSync } = require('node:fs');

const file = process.env.HOSTILE_TURNS;
const tellMs = 5;

/** Processor time of this thread so far in ms; undefined if the system does not report it. */
function processorClock() {
  let handle;
  try {
    handle = openSync('/proc/thread-self/schedstat', 'r');
  } catch {
    return () => undefined;
  }
  const buffer = Buffer.alloc(64);
  return () => Number(buffer.toString('latin1', 0, readSync(handle, buffer, 0, 64, 0)).split(' ')[0]) / 1e6;
}

if (file !== undefined) {
  const processorMs = processorClock();
  let lastMs = performance.now();
  let last = processorMs();
  setInterval(() => {
    const nowMs = performance.now();
    const now = processorMs();
    const wallMs = nowMs - lastMs;
    const cpuMs = now === undefined ? undefined : now - last;
    lastMs = nowMs;
    last = now;
    if (wallMs >= tellMs) appendFileSync(file, `${JSON.stringify({ wallMs, cpuMs })}\n`);
  }, 1).unref();
}
