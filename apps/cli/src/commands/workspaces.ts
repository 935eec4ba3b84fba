import type { CommandSpec } from '../command';
import { afterStop, ImportProgress, secretOf, showOutcome } from './import-outcome';

interface ImportOptions {
  from: string;
  to: string;
  organization: string[];
  plan?: boolean;
  history?: boolean;
}

/** `workspaces import`: copies organizations from any server that has the workspace API. */
export const importCommands: readonly CommandSpec[] = [
  {
    name: 'workspaces import',
    help: 'Copy organizations with projects, teams, workspaces, variables, tags, grants and states from another server.',
    flags: {
      '--from <address>': {
        help: 'the other server; set its token in IMPORT_TOKEN or IMPORT_TOKEN_FILE',
        required: true,
      },
      '--to <address>': 'this service (WORKSPACES_ADDR); set its token in WORKSPACES_TOKEN or WORKSPACES_TOKEN_FILE',
      '--organization <name...>': { help: 'the organizations to copy', required: true },
      '--plan': 'write nothing; show what would be written',
      '--history': 'all state versions, not only the newest of each workspace',
    },
    examples: ['workspaces import -from=https://other.example.com -organization=harbour -plan'],
    more: 'Run it again after an interruption, or later to copy new items; existing ones are not changed.',
    async run(context, options: ImportOptions) {
      const { interruption, env } = context;
      const { copyOrganization }: typeof import('../migration/organization') = require('../migration/organization');
      const { attempt }: typeof import('../migration/import') = require('../migration/import');
      const { Remote }: typeof import('../migration/remote') = require('../migration/remote');
      const { Report }: typeof import('../migration/report') = require('../migration/report');
      const progress = new ImportProgress(context, 'workspaces');
      const report = new Report((sentence) => progress.note(sentence));
      const job = {
        from: new Remote('the other server', options.from.replace(/\/$/, ''), secretOf('IMPORT_TOKEN', env)),
        to: new Remote(
          'this service',
          (options.to ?? env.WORKSPACES_ADDR ?? '').replace(/\/$/, ''),
          secretOf('WORKSPACES_TOKEN', env),
        ),
        plan: options.plan ?? false,
        history: options.history ?? false,
        report,
        progress,
      };
      try {
        await interruption.during(afterStop, async () => {
          for (const name of options.organization) await attempt(job, name, () => copyOrganization(job, name));
        });
      } finally {
        progress.end();
        // An import that ended early also reports how far it got.
        showOutcome(context, report, job.plan);
      }
    },
  },
];
