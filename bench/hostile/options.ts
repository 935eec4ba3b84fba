/** What to measure, and for how long. */
export interface HostileOptions {
  readonly services: readonly ('secrets' | 'workspaces')[];
  /** For each service. */
  readonly seconds: number;
  /** Part of what a case is called. */
  readonly only: string;
  readonly write: boolean;
}

export const usage = `npm run bench -- --hostile [--service NAME] [--seconds N] [--only TEXT] [--write]

  --service NAME  secrets or workspaces; both unless given
  --seconds N     at most so long for each (300)
  --only TEXT     only operations and bodies whose name contains TEXT
  --write         also write the tables to bench/results/`;

/** Reads the command line; throws an error that names what it does not understand. */
export function parseHostileOptions(args: readonly string[]): HostileOptions {
  let options: HostileOptions = { services: ['secrets', 'workspaces'], seconds: 300, only: '', write: false };
  const rest = [...args];
  const value = (name: string): string => {
    const next = rest.shift();
    if (next === undefined) throw new Error(`${name} needs a value\n\n${usage}`);
    return next;
  };
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '--write') options = { ...options, write: true };
    else if (name === '--only') options = { ...options, only: value(name) };
    else if (name === '--seconds') options = { ...options, seconds: secondsOf(value(name)) };
    else if (name === '--service') options = { ...options, services: [serviceOf(value(name))] };
    else throw new Error(`${name} is not known\n\n${usage}`);
  }
  return options;
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new Error(`--seconds ${text} is no number above 0`);
  return seconds;
}

function serviceOf(text: string): 'secrets' | 'workspaces' {
  if (text === 'secrets' || text === 'workspaces') return text;
  throw new Error(`--service ${text} is neither secrets nor workspaces`);
}
