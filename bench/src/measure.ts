import type { Statement } from './ceilings';
import type { Options } from './options';
import type { Measured, Row, Scenario } from './scenario';

/**
 * The two ceilings: bare `node:http`, and PostgreSQL by statement. Each function measures one of them and returns the
 * rate per second.
 */
export interface Baselines {
  bare(connections: number, seconds: number, bytes?: number): Promise<number>;
  ceiling(statement: Statement, connections: number, seconds: number): Promise<number>;
}

/**
 * Runs every scenario in every round, each with its baselines measured right before or after it, so that a temporarily
 * busy machine affects both.
 */
export async function measure(
  scenarios: readonly Scenario[],
  baselines: Baselines,
  options: Options,
  progress: (text: string) => void,
): Promise<Row[]> {
  const rows = scenarios.flatMap((scenario) =>
    options.connections.map((connections) => ({ scenario, connections, rounds: [] as Measured[] })),
  );
  for (const scenario of scenarios) {
    progress(`warming up: ${scenario.name}`);
    await scenario.prepare?.(Math.max(...options.connections), options.baselineSeconds);
    await scenario.run(Math.max(...options.connections), options.baselineSeconds);
  }
  for (let round = 1; round <= options.rounds; round++) {
    for (const { scenario, connections, rounds } of rows) {
      progress(`round ${round} of ${options.rounds}: ${scenario.name}, ${connections} connections`);
      await scenario.prepare?.(connections, options.seconds);
      const bare = await baselines.bare(connections, options.baselineSeconds, scenario.bareBytes);
      const figures = await scenario.run(connections, options.seconds);
      const ceiling =
        scenario.ceiling && (await baselines.ceiling(scenario.ceiling, connections, options.baselineSeconds));
      rounds.push({ ...figures, bare, ceiling });
    }
  }
  return rows.map(({ scenario, connections, rounds }) => ({ name: scenario.name, connections, rounds }));
}
