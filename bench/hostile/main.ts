import { machine } from '../src/machine';
import { type Ground, onGround, runProgram, show } from '../src/program';
import { ordered } from './cases';
import { type HostileOptions, parseHostileOptions, usage } from './options';
import { isTooLong, report } from './report';
import { type Outcome, runCase } from './run-case';
import { prepareSecrets } from './secrets';
import { prepareWorkspaces } from './workspaces';

const services = { secrets: prepareSecrets, workspaces: prepareWorkspaces };

/**
 * Sends both services their most expensive requests, and prints which of them blocked the event loops longest. Returns
 * true if all are within the limits.
 */
async function hostile(options: HostileOptions, setup: Ground): Promise<boolean> {
  const texts = [machine()];
  let good = true;
  for (const service of options.services) {
    const { target, cases } = await services[service](setup);
    const selected = ordered(cases).filter(({ operation, kind }) => `${operation} ${kind}`.includes(options.only));
    const outcomes: Outcome[] = [];
    const untilMs = performance.now() + options.seconds * 1000;
    for (const one of selected) {
      if (performance.now() > untilMs) break;
      outcomes.push(await runCase(target, one));
      const last = outcomes.at(-1)!;
      if (isTooLong(last))
        process.stderr.write(`${last.turn.cpuMs?.toFixed(0)} ms: ${last.sender} ${last.operation}, ${last.kind}\n`);
      if (outcomes.length % 500 === 0) process.stderr.write(`${service}: ${outcomes.length} of ${selected.length}\n`);
    }
    texts.push(report(service, outcomes, selected.length - outcomes.length));
    good &&= !outcomes.some(isTooLong);
  }
  show('The worst requests of', texts.join('\n\n'), { ...options, name: 'hostile' });
  return good;
}

runProgram(usage, (args) => {
  const options = parseHostileOptions(args);
  return onGround({ max_connections: '100' }, (ground) => hostile(options, ground));
});
