import { Reach } from '@keystead/outside';
import type { Isolation } from '../isolation/isolation';
import type { ScratchOptions } from '../isolation/scratch';
import type { Fetcher } from './fetch-commit';

const growth = 4;

/** The parts of a worker's configuration that concern fetching. */
export interface FetchSettings {
  readonly scratch: ScratchOptions;
  /** Variables for runs; a fetch uses those that name a proxy. */
  readonly tool: { readonly environment: Readonly<Record<string, string>> };
  readonly diskBytes: number;
  readonly fetchSeconds: number;
}

/** How a worker with this configuration fetches commits, within the limits of the service. */
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
    // The space for the archive and the unpacked files.
    limits: { seconds, bytes: Math.min(diskBytes, (growth + 1) * bounds.configurationBytes) },
  };
}
