import { parseArgs } from 'node:util';

export interface ScaleOptions {
  readonly tokens: number;
  readonly leases: number;
  readonly keys: number;
  readonly due: number;
  readonly deleted: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly write: boolean;
  /** A folder whose seeded database is used again, or made. */
  readonly keep: string | undefined;
}

export const usage = `npm run bench:scale -- [options]

Compares a secrets service that holds a million leases, tokens and keys with an empty one: start, memory, throughput,
listing, and how fast leases that are due at once are ended.

  --tokens N, --leases N, --keys N   how many (1000000 each)
  --due N        leases that become due at once (100000)
  --deleted N    keys in a row that are deleted before pages are read again (100000)
  --rounds N     rounds of starts and loads, of which the median is shown; 0 for none (3)
  --seconds N    seconds of each run of load (2)
  --keep FOLDER  keep the database there, and do not seed it again
  --write        also write the table to bench/results/`;

/** Reads the command line. */
export function parseScaleOptions(args: string[]): ScaleOptions {
  const { values } = parseArgs({
    args,
    options: {
      tokens: { type: 'string', default: '1000000' },
      leases: { type: 'string', default: '1000000' },
      keys: { type: 'string', default: '1000000' },
      due: { type: 'string', default: '100000' },
      deleted: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '2' },
      keep: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const number = (name: 'tokens' | 'leases' | 'keys' | 'due' | 'deleted' | 'rounds' | 'seconds') =>
    Number(values[name]);
  return {
    tokens: number('tokens'),
    leases: number('leases'),
    keys: number('keys'),
    due: number('due'),
    deleted: number('deleted'),
    rounds: number('rounds'),
    seconds: number('seconds'),
    keep: values.keep,
    write: values.write,
  };
}
