import type { startEmbedded } from '@keystead/postgres';
import type { Generator, Load } from './load';
import type { Scenario } from './scenario';

/** The environment of a service under load: its database, its cores, and its cleanup. */
export interface Setting {
  readonly folder: string;
  readonly postgres: Awaited<ReturnType<typeof startEmbedded>>;
  readonly generator: Generator;
  readonly cores: string | undefined;
  atEnd(cleanup: () => unknown): void;
  isSelected(name: string): boolean;
  /** The built source tree whose services are measured; by default, this tree. */
  readonly tree?: string;
}

const numbersPerRun = 10_000_000;

/** Creates the scenarios of a service. In every run, `{n}` is replaced by numbers that no earlier run has used. */
export function scenariosOn({ url, pid }: { url: string; pid: number }, generator: Generator) {
  let start = 0;
  return (name: string, load: Load, more: Partial<Scenario> = {}): Scenario => ({
    name,
    pid,
    ...more,
    run: (connections, seconds) => {
      start += numbersPerRun;
      return generator.run(url, load, connections, seconds, start);
    },
  });
}
