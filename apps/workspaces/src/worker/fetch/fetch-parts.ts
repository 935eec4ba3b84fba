import { Reach } from '@keystead/outside';
import type { Isolation } from '../isolation/isolation';
import type { ScratchOptions } from '../isolation/scratch';
import type { Fetcher } from './fetch-commit';

const growth = 4;

/** What of a worker's configuration is about fetching. */
export interface FetchSettings {
  readonly scratch: ScratchOptions;
  /** Variables that runs are given; of these a fetch has what names a proxy. */
  readonly tool: { readonly environment: Readonly<Record<string, string>> };
  readonly diskBytes: number;
  readonly fetchSeconds: number;
}

/** What a worker of this configuration fetches commits with, within the bounds of the service. */
export function fetcherOf(
  { scratch, tool, diskBytes, fetchSeconds: seconds }: FetchSettings,
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
