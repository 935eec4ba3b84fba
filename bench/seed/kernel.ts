import { createRequire } from 'node:module';
import { createService, type Service } from '@keystead/secrets';
import { createLogger } from '@keystead/server';

export type Kernel = Service['kernel'];
export type WriteSet = Parameters<Kernel['tokens']['mint']>[1];
export type TokenRecord = NonNullable<Awaited<ReturnType<Kernel['tokens']['find']>>>;

/** The configuration of the service from the environment. */
export function configuration(): Parameters<typeof createService>[0] {
  const { readConfig } = source<{ readConfig(env: NodeJS.ProcessEnv): Parameters<typeof createService>[0] }>('config');
  return readConfig({ SECRETS_LOG_LEVEL: 'silent', ...process.env });
}

/** The service of this environment, opened, without a listening socket. */
export async function openService(): Promise<Service> {
  const service = await createService(configuration(), { log: createLogger({ name: 'seed', level: 'silent' }) });
  const { kernel } = service;
  if (kernel.barrier.sealed) {
    await service.close();
    throw new Error('initialise the service first: it has no keys yet');
  }
  await kernel.namespaces.refresh();
  await kernel.mounts.refresh();
  return service;
}

/** An empty write set. */
export function emptySet(): WriteSet {
  return source<{ newWriteSet(): WriteSet }>('kernel/storage/write-set').newWriteSet();
}

/** The seed is a tool of this repository and may import internals of the package. */
const require = createRequire(__filename);
const source = <T>(module: string): T => require(`../../apps/secrets/src/${module}`) as T;
