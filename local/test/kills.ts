import type { TestInstallation } from './installation';
import { waitFor } from './start';

/** The processes that can be killed: both services, their PostgreSQL, and the program that started them. */
export const victims = ['secrets', 'postgres', 'workspaces', 'program'] as const;
/** The processes above, and the worker, if there is one. */
export type Victim = (typeof victims)[number] | 'worker';

/** Kills one process with SIGKILL and resolves when everything works again: by itself, or after a new start. */
export async function killAndRecover(installation: TestInstallation, victim: Victim): Promise<void> {
  if (victim === 'program') {
    const program = installation.program();
    program.process.kill('SIGKILL');
    await program.ended;
    await installation.start();
    return;
  }
  if (victim === 'worker') {
    const before = installation.workerPid();
    process.kill(before, 'SIGKILL');
    await waitFor(() => installation.workerPid() !== before);
    return;
  }
  const before = await installation.pids();
  process.kill(before[victim], 'SIGKILL');
  const program = installation.program();
  const returned = async () => {
    const now = await installation.pids().catch(() => before);
    return now[victim] !== before[victim];
  };
  await waitFor(
    returned,
    program.process,
    () => `${victim} ${before[victim]} was killed; ${program.output().slice(-4000)}`,
  );
  await installation.healthy();
}
