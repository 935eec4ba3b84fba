import { Reach } from '@keystead/outside';
import type { Isolation } from '../isolation/isolation';
import type { ScratchOptions } from '../isolation/scratch';
import type { FetchParts } from './fetch-loop';

const growth = 4;

/** What of a worker's configuration is about fetching. */
export interface FetchSettings {
  readonly isolation: Isolation;
  readonly scratch: ScratchOptions;
  /** Private networks in which Git hosts may be. */
  readonly networks: readonly string[];
  /** Variables that runs are given; of these a fetch has what names a proxy. */
  readonly environment: Readonly<Record<string, string>>;
  readonly configurationBytes: number;
  readonly diskBytes: number;
  readonly seconds: number;
}

/** What a worker of this configuration fetches commits with. */
export function fetchParts(settings: FetchSettings, shared: Pick<FetchParts, 'db' | 'keyring' | 'log'>): FetchParts {
  const { isolation, scratch, networks, environment, configurationBytes, diskBytes, seconds } = settings;
  const isProxy = ([name]: [string, string]): boolean => /^(?:https?|no)_proxy$/i.test(name);
  return {
    ...shared,
    configurationBytes,
    fetcher: {
      isolation,
      scratch,
      reach: new Reach(networks),
      proxies: Object.fromEntries(Object.entries(environment).filter(isProxy)),
      // Packed as it comes, and laid out.
      limits: { seconds, bytes: Math.min(diskBytes, (growth + 1) * configurationBytes) },
    },
  };
}
