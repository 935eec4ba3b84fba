import { measureCeiling, prepareCeilings } from './ceilings';
import { enginesFamily } from './engines-family';
import { httpScenario, startHttp } from './http-family';
import { largeListsFamily } from './large-lists-family';
import { chooseGenerator } from './load';
import { choosePinning, machine, pinProcess, requireIdleMachine } from './machine';
import { measure } from './measure';
import { type Options, parseOptions, usage } from './options';
import { outsideFamily } from './outside-family';
import { aboutPinning, aboutPostgres, type Ground, onGround, runProgram, show } from './program';
import { registryFamily } from './registry-family';
import type { Scenario } from './scenario';
import { secretsFamily } from './secrets-family';
import { table } from './table';
import { workspacesFamily } from './workspaces-family';

async function bench(options: Options, { folder, postgres, atEnd }: Ground): Promise<void> {
  if (!options.busy) requireIdleMachine();
  const pinning = choosePinning();
  pinProcess(pinning?.others, process.pid);
  const generator = chooseGenerator(pinning?.others);
  pinProcess(pinning?.others, postgres.pid);
  const database = await prepareCeilings(postgres);

  const http = async (kind: 'bare' | 'express' | 'keystead') => {
    const child = await startHttp(kind, pinning?.server);
    atEnd(() => child.stop());
    return child.url;
  };
  const bare = await http('bare');
  const isSelected = (name: string) => options.only.length === 0 || options.only.some((part) => name.includes(part));
  const ceiling = (statement: 'upsert' | 'select'): Scenario => ({
    name: `PostgreSQL: ${statement} by key`,
    run: (clients, seconds) => measureCeiling(database, statement, clients, seconds, pinning?.server),
  });
  const setting = { folder, postgres, generator, cores: pinning?.server, atEnd, isSelected };
  const scenarios = [
    httpScenario('bare node:http', bare, generator),
    httpScenario('Express as it comes', await http('express'), generator),
    httpScenario('Keystead’s Express, with log', await http('keystead'), generator),
    ceiling('upsert'),
    ceiling('select'),
    ...(await secretsFamily(setting)),
    ...(await enginesFamily(setting)),
    ...(await outsideFamily(setting)),
    ...(await workspacesFamily(setting)),
    ...(await registryFamily(setting)),
    ...(await largeListsFamily(setting)),
  ].filter(({ name }) => isSelected(name));

  const rows = await measure(
    scenarios,
    {
      bare: async (connections, seconds, bytes) =>
        (await generator.run(bare, { method: 'GET', paths: [`/${bytes ?? ''}`] }, connections, seconds, 0))
          .requestsPerSecond,
      ceiling: async (statement, clients, seconds) =>
        (await measureCeiling(database, statement, clients, seconds, pinning?.server)).requestsPerSecond,
    },
    options,
    (text) => process.stderr.write(`${text}\n`),
  );
  const about = [
    machine(),
    `${await aboutPostgres(database, ', fsync on')}; load from ${generator.name}; ${aboutPinning(pinning)}; ` +
      `median of ${options.rounds} round${options.rounds === 1 ? '' : 's'}`,
  ];
  show('Bench of', `${about.join('\n')}\n\n${table(rows)}`, options);
}

runProgram(usage, (args) => {
  const options = parseOptions(args);
  return onGround({ max_connections: '200' }, (ground) => bench(options, ground));
});
