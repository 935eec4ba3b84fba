import { DirectoryStandIn } from '../../apps/secrets/test/stand-ins/cloudone';
import { SchedulerStandIn } from '../../apps/secrets/test/stand-ins/scheduler';

/**
 * Starts stand-ins of a scheduler and a directory. The first argument is the delay of the scheduler's answers in
 * milliseconds.
 */
async function start(): Promise<object> {
  const scheduler = new SchedulerStandIn();
  const directory = new DirectoryStandIn();
  // Recorded calls are not needed, and an hour of load would fill the memory with them.
  scheduler.calls.push = () => 0;
  directory.calls.push = () => 0;
  await Promise.all([scheduler.start(), directory.start()]);
  const thinkMs = Number(process.argv[2] ?? 0);
  process.on('SIGUSR2', () => {
    scheduler.delayMs = scheduler.delayMs === 0 ? thinkMs : 0;
  });
  return {
    scheduler: scheduler.address,
    management: scheduler.management,
    directory: directory.address,
    tenant: directory.tenant,
    resource: directory.resource,
    jwt: directory.sign({ exp: Math.floor(Date.now() / 1000) + 86_400 }),
  };
}

void start().then((what) => console.log(`ready ${JSON.stringify(what)}`));
