// Progress output: one line per step, with its duration.

/** Runs one step and prints its duration; a step that returns `false` is not shown. */
export async function step(name, work) {
  const begin = Date.now();
  const seconds = () => `${((Date.now() - begin) / 1000).toFixed(1)} s`;
  const live = process.stdout.isTTY;
  if (live) process.stdout.write(`  ${name} …`);
  const timer = live
    ? setInterval(() => process.stdout.write(`\r  ${name} … ${seconds()}`), 500)
    : setInterval(() => process.stdout.write(`  ${name} … ${seconds()}\n`), 10_000);
  const settle = (mark, shown) => {
    clearInterval(timer);
    if (live) process.stdout.write(`\r\u001b[K`);
    if (shown) process.stdout.write(`${mark} ${name} (${seconds()})\n`);
  };
  try {
    const result = await work();
    settle('✓', result !== false);
    return result;
  } catch (error) {
    settle('✗', true);
    throw error;
  }
}

/** A failure that the reader can fix: only its message is shown, without a stack. */
export class Stop extends Error {
  constructor(message, details = '') {
    super(message);
    this.name = 'Stop';
    this.details = details;
  }
}

/** Prints an error, and ends the program with exit code 1. */
export function giveUp(error) {
  if (error?.name === 'Stop') {
    if (error.details) process.stderr.write(`${error.details.trimEnd()}\n`);
    process.stderr.write(`\n${error.message}\n`);
  } else {
    process.stderr.write(`${error?.stack ?? error}\n`);
  }
  process.exit(1);
}
