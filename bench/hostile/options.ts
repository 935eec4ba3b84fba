import { parseArgs } from 'node:util';

/** The services to measure, and for how long. */
export interface HostileOptions {
  readonly services: readonly ('secrets' | 'workspaces')[];
  /** For each service. */
  readonly seconds: number;
  /** Part of a case's name. */
  readonly only: string;
  readonly write: boolean;
}

export const usage = `npm run bench -- --hostile [--service NAME] [--seconds N] [--only TEXT] [--write]

  --service NAME  secrets or workspaces; both unless given
  --seconds N     at most so long for each (300)
  --only TEXT     only operations and bodies whose name contains TEXT
  --write         also write the tables to bench/results/`;

/** Reads the command line. Throws an error that names the first unknown argument. */
export function parseHostileOptions(args: readonly string[]): HostileOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      service: { type: 'string' },
      seconds: { type: 'string', default: '300' },
      only: { type: 'string', default: '' },
      write: { type: 'boolean', default: false },
    },
  });
  const { service, seconds, ...rest } = values;
  const services = (['secrets', 'workspaces'] as const).filter((one) => service === undefined || service === one);
  if (services.length === 0) throw new Error(`--service ${service} is neither secrets nor workspaces`);
  if (!(Number(seconds) > 0)) throw new Error(`--seconds ${seconds} is not a number above 0`);
  return { ...rest, services, seconds: Number(seconds) };
}
