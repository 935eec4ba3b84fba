import { spawnSync } from 'node:child_process';
import type { Programs } from './installation';

/** The output of `npm start -- --help`: the settings of the local program, then those of each service. */
export function helpText(programs: Programs): string {
  return [
    'npm start                  both services on an embedded PostgreSQL',
    'npm start -- --help        this text',
    'npm test                   all checks and tests; -- --long and -- --interop run more',
    '',
    'Settings are environment variables.',
    '',
    'Both services',
    '  KEYSTEAD_DATA [./data]',
    '      Folder of the embedded database, the seal keys, the logs and first-run.json.',
    '  KEYSTEAD_WORKER [on]',
    '      off: no worker; remote runs wait for one that runs elsewhere.',
    '  KEYSTEAD_NODE [the pinned Node 24]',
    '      The Node program that runs the services.',
    '  DATABASE_URL',
    '      A PostgreSQL server (15 or newer) for both services, instead of the embedded one. Each service uses the',
    '      database with its name (secrets, workspaces), and creates it if the role may. Also as DATABASE_URL_FILE.',
    '',
    'Secrets service',
    describe(programs.secrets),
    '',
    'Workspace service',
    describe(programs.workspaces),
    '',
    ...(programs.worker ? ['Worker of remote runs', describe(programs.worker), ''] : []),
  ].join('\n');
}

function describe(program: string): string {
  return spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' }).stdout.trimEnd();
}
