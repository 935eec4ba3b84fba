import { createLogger, serve } from '@keystead/server';
import { faultPoints } from '../../../packages/testing/src/fault-points';
import { readConfig } from '../src/config';
import { rescueList } from '../src/http/list-verb';
import { createService } from '../src/service';

// One node of the service as a separate process. Its parent sets where it exits, and can move its clock.

let aheadMs = 0;
const fault = faultPoints((order) => {
  aheadMs = (order as { readonly aheadMs: number }).aheadMs;
});

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
  process.send?.({ url: serving.url });
}

main().catch((error) => {
  process.stderr.write(`${(error as Error).stack}\n`);
  process.exit(1);
});
