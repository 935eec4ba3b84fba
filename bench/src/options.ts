import { parseArgs } from 'node:util';

/** How long, how often and what to measure. */
export interface Options {
  rounds: number;
  /** Seconds of load for a measurement, and for its bare baseline. */
  seconds: number;
  baselineSeconds: number;
  connections: readonly number[];
  /** Only scenarios whose name contains one of these. */
  only: readonly string[];
  write: boolean;
  /** Whether to measure even if the machine is busy. */
  busy: boolean;
}

export const usage = `npm run bench -- [--quick] [--only NAME]... [--rounds N] [--connections N,N] [--write] [--busy]

  --quick         one short round, to see that everything runs
  --only NAME     only scenarios whose name contains NAME; may be repeated
  --rounds N      rounds of which the median is shown (5)
  --connections   how many connections at a time (1,32)
  --write         also write the table to bench/results/
  --busy          also where others keep the machine busy, so that figures say nothing`;

/** Reads the command line. Throws an error that names the first unknown argument. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      connections: { type: 'string', default: '1,32' },
      write: { type: 'boolean', default: false },
      busy: { type: 'boolean', default: false },
    },
  });
  const { quick, only, rounds = quick ? '1' : '5', connections, write, busy } = values;
  return {
    rounds: positive('--rounds', rounds),
    seconds: quick ? 1 : 2,
    baselineSeconds: quick ? 0.5 : 1,
    connections: connections.split(',').map((n) => positive('--connections', n)),
    only,
    write,
    busy,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} needs a whole number above 0, not "${text}"`);
  return number;
}
