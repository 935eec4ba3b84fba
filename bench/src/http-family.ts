import path from 'node:path';
import { benchRoot, type Child, startChild } from './child';
import type { Generator } from './load';
import type { Scenario } from './scenario';

/** Starts one of the three plain HTTP servers; its address is in `url`. */
export async function startHttp(kind: 'bare' | 'express' | 'keystead', cores: string | undefined) {
  const child: Child = await startChild(path.join(benchRoot, 'servers', 'http.ts'), [kind], { cores });
  return { ...child, url: `${child.line.split(' ')[1]}/` };
}

/** A scenario that loads one of the plain HTTP servers. */
export function httpScenario(name: string, url: string, generator: Generator): Scenario {
  return {
    name,
    run: (connections, seconds) => generator.run(url, { method: 'GET', paths: ['/'] }, connections, seconds, 0),
  };
}
