import { closedToRuns } from '@keystead/addresses';
import { type LocalConfig, serviceNames } from './config';

/** The addresses (host:port) of listeners of the services that runs on this machine must not reach. */
export function listenersClosedToRuns({ services }: LocalConfig, env: NodeJS.ProcessEnv): string[] {
  return serviceNames.flatMap((name) => {
    const { host, port, address } = services[name];
    const prefix = name.toUpperCase();
    const publicUrls = [env[`${prefix}_PUBLIC_URL`] || address];
    if (name === 'secrets') publicUrls.push(env.WORKSPACES_SECRETS_PUBLIC_URL || address);
    const trustsAddresses = Boolean(env[`${prefix}_TRUSTED_PROXIES`]) && !hasSecret(prefix, env);
    const metricsPort = env[`${prefix}_METRICS_PORT`];
    const metrics = metricsPort
      ? { host: env[`${prefix}_METRICS_HOST`] || '127.0.0.1', port: Number(metricsPort) }
      : undefined;
    return closedToRuns({ host, port, publicUrls, trustsAddresses, metrics });
  });
}

const hasSecret = (prefix: string, env: NodeJS.ProcessEnv): boolean =>
  Boolean(env[`${prefix}_TRUSTED_PROXY_SECRET`] || env[`${prefix}_TRUSTED_PROXY_SECRET_FILE`]);
