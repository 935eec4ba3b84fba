import { type LocalConfig, serviceNames } from './config';

/**
 * Listeners of the services that are closed to runs here, as host:port: measurements always, and the service itself unless
 * its public address has the same port. A service that takes every request from a trusted address for its proxy's is closed, too:
 * runs have the addresses of this machine.
 */
export function listenersClosedToRuns({ services }: LocalConfig, env: NodeJS.ProcessEnv): string[] {
  return serviceNames.flatMap((name) => {
    const { host, port, address } = services[name];
    const prefix = name.toUpperCase();
    const publicUrls = [env[`${prefix}_PUBLIC_URL`] || address];
    if (name === 'secrets') publicUrls.push(env.WORKSPACES_SECRETS_PUBLIC_URL || address);
    const isPublic = publicUrls.some((url) => portOf(url) === port);
    const isTrusting = env[`${prefix}_TRUSTED_PROXIES`] && !hasSecret(prefix, env);
    const metrics = env[`${prefix}_METRICS_PORT`];
    return [
      ...(isPublic && !isTrusting ? [] : [place(host, port)]),
      ...(metrics ? [place(env[`${prefix}_METRICS_HOST`] || '127.0.0.1', Number(metrics))] : []),
    ];
  });
}

const hasSecret = (prefix: string, env: NodeJS.ProcessEnv): boolean =>
  Boolean(env[`${prefix}_TRUSTED_PROXY_SECRET`] || env[`${prefix}_TRUSTED_PROXY_SECRET_FILE`]);

const place = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

function portOf(url: string): number | undefined {
  if (!URL.canParse(url)) return undefined;
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
