import { Agent } from 'node:http';
import { quantile } from './figures';
import { processorMs } from './machine';
import { madeState } from './made-state';
import { StateClient } from './state-client';
import { type StateService, withStateService } from './state-service';

const plans = Number(process.argv[2] ?? 100);

/** What the calls of a plan take, one after the other as the tool makes them, against a state of 1 MiB. */
async function measure({ url, pid, token }: StateService): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const [planner] = (await StateClient.prepare(url, token, 1, agent)) as [StateClient];
  const state = madeState(1, 1, 'realistic');
  const { raw } = await planner.announce(state, 1);
  const status = await planner.put(raw, state);
  if (status !== 200) throw new Error(`the upload was answered ${status}`);
  await planner.act('unlock');
  for (let i = 0; i < 10; i++) await planner.plan();
  const before = processorMs(pid);
  const times: number[] = [];
  for (let i = 0; i < plans; i++) {
    const start = performance.now();
    await planner.plan();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const shown = [0.5, 0.95, 0.999].map((share) => `${quantile(times, share).toFixed(1)} ms`);
  process.stdout.write(
    `calls of a plan on a state of ${state.bytes} bytes, ${plans} plans: median ${shown[0]}, p95 ${shown[1]}, ` +
      `longest ${shown[2]}; processor time of the service ${((processorMs(pid) - before) / plans).toFixed(1)} ms a plan\n`,
  );
  agent.destroy();
}

withStateService(measure).catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
