import { createLogger, serve } from '@keystead/server';
import { readConfig } from '../src/config';
import { rescueList } from '../src/http/list-verb';
import { createService } from '../src/service';

// One node of the service as a separate process. Its parent sets where it dies, and can move its clock.

interface Order {
  /** The fault point at which the process kills itself. */
  readonly dieAt?: string;
  /** How often it passes that point first. */
  readonly passes?: number;
  /** How far its clock is ahead. */
  readonly aheadMs?: number;
  /** Starts to record the fault points it passes. */
  readonly record?: boolean;
}

let dieAt: string | undefined;
let passes = 0;
let aheadMs = 0;
let passed: string[] = [];
let recording = false;
process.on('message', (order: Order) => {
  dieAt = order.dieAt;
  passes = order.passes ?? 0;
  aheadMs = order.aheadMs ?? aheadMs;
  process.send?.({ passed });
  if (order.record !== undefined) {
    recording = order.record;
    passed = [];
  }
});

function fault(name: string): void {
  if (recording) passed.push(name);
  if (name !== dieAt || passes-- > 0) return;
  process.kill(process.pid, 'SIGKILL');
  // Nothing more may happen until the signal arrives.
  for (;;);
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const log = createLogger({ name: 'secrets', level: config.logLevel });
  const service = await createService(config, { log, fault, clock: { now: () => Date.now() + aheadMs } });
  const serving = await serve({
    app: service.app,
    listen: config.listen,
    log,
    ready: service.ready,
    drainSeconds: 1,
    onServer: rescueList,
  });
  process.once('SIGTERM', async () => {
    await serving.close();
    await service.close();
    process.exit(0);
  });
  // A process without its parent ends.
  process.once('disconnect', () => process.exit(1));
  process.send?.({ url: serving.url });
}

main().catch((error) => {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exit(1);
});
