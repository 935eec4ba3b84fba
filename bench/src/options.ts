/** How long, how often and what to measure. */
export interface Options {
  rounds: number;
  /** Seconds of load for a measurement, and for the bare baseline beside it. */
  seconds: number;
  baselineSeconds: number;
  connections: readonly number[];
  /** Only scenarios whose name contains one of these. */
  only: readonly string[];
  write: boolean;
}

export const usage = `npm run bench -- [--quick] [--only NAME]... [--rounds N] [--connections N,N] [--write]

  --quick         one short round, to see that everything runs
  --only NAME     only scenarios whose name contains NAME; may be repeated
  --rounds N      rounds of which the median is shown (5)
  --connections   how many connections at a time (1,32)
  --write         also write the table to bench/results/`;

/** Reads the command line; throws an error that names what it does not understand. */
export function parseOptions(args: readonly string[]): Options {
  const options = {
    rounds: 5,
    seconds: 2,
    baselineSeconds: 1,
    connections: [1, 32],
    only: [] as string[],
    write: false,
  };
  const rest = [...args];
  const value = (name: string) => {
    const next = rest.shift();
    if (next === undefined) throw new Error(`${name} needs a value\n\n${usage}`);
    return next;
  };
  while (rest.length > 0) {
    const name = rest.shift() as string;
    if (name === '--quick') Object.assign(options, { rounds: 1, seconds: 1, baselineSeconds: 0.5 });
    else if (name === '--only') options.only.push(value(name));
    else if (name === '--rounds') options.rounds = positive(name, value(name));
    else if (name === '--connections')
      options.connections = value(name)
        .split(',')
        .map((n) => positive(name, n));
    else if (name === '--write') options.write = true;
    else throw new Error(`unknown option ${name}\n\n${usage}`);
  }
  return options;
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} needs a whole number above 0, not "${text}"`);
  return number;
}
