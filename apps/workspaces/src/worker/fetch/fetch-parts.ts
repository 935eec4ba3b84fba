import { Reach } from '@keystead/outside';
import type { OwnConfig } from '../config';
import type { Isolation } from '../isolation/isolation';
import type { Fetcher } from './fetch-commit';

const growth = 4;

/** What a worker of this configuration fetches commits with, within the bounds of the service. */
export function fetcherOf(
  {
    scratch,
    tool,
    diskBytes,
    fetchSeconds: seconds,
  }: Pick<OwnConfig, 'scratch' | 'tool' | 'diskBytes' | 'fetchSeconds'>,
  isolation: Isolation,
  bounds: {
    /** Private networks in which Git hosts may be. */
    readonly networks: readonly string[];
    readonly configurationBytes: number;
  },
): Fetcher {
  const isProxy = ([name]: [string, string]): boolean => /^(?:https?|no)_proxy$/i.test(name);
  return {
    isolation,
    scratch,
    reach: new Reach(bounds.networks),
    proxies: Object.fromEntries(Object.entries(tool.environment).filter(isProxy)),
    // Packed as it comes, and laid out.
    limits: { seconds, bytes: Math.min(diskBytes, (growth + 1) * bounds.configurationBytes) },
  };
}
