import { readFileSync } from 'node:fs';
import type { CommandSpec } from '../command';
import { attempt } from '../migration/import';
import { copyOrganization } from '../migration/organization';
import { Remote } from '../migration/remote';
import { Report } from '../migration/report';
import { exitCodes, Problem } from '../problem';

interface ImportOptions {
  from: string;
  to: string;
  organization: string[];
  plan?: boolean;
  history?: boolean;
}

/** `workspaces import`: moves organizations here from any server of the workspace API. */
export const importCommands: readonly CommandSpec[] = [
  {
    name: 'workspaces import',
    help: 'Copy organizations with projects, teams, workspaces, variables, tags, grants and states from another server.',
    flags: {
      '--from <address>': {
        help: 'the other server; its token in IMPORT_TOKEN or IMPORT_TOKEN_FILE',
        required: true,
      },
      '--to <address>': 'this service (WORKSPACES_ADDR); its token in WORKSPACES_TOKEN or WORKSPACES_TOKEN_FILE',
      '--organization <name...>': { help: 'what to copy', required: true },
      '--plan': 'write nothing; show what would be written',
      '--history': 'all state versions, not only the newest of each workspace',
    },
    examples: ['workspaces import -from=https://other.example.com -organization=harbour -plan'],
    more: 'Run it again after an interruption, or later for what is new: what is here already stays as it is.',
    async run({ output, env, exitWith }, options: ImportOptions) {
      const report = new Report();
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
        progress: (text: string) => output.note(text),
      };
      for (const name of options.organization) await attempt(job, name, () => copyOrganization(job, name));
      const { created, present, left, missing, failed } = report;
      output.show(
        { plan: job.plan, created, present, left, missing, failed },
        {
          [job.plan ? 'would create' : 'created']: counts(created),
          'here already': counts(present),
        },
      );
      for (const kind of missing) output.note(`not there, or not for this token: ${kind}`);
      for (const sentence of left) output.note(`by hand: ${sentence}`);
      for (const sentence of failed) output.note(`failed: ${sentence}`);
      // What failed may come with another run.
      if (failed.length > 0) exitWith(exitCodes.refused);
    },
  },
];

function secretOf(name: string, env: NodeJS.ProcessEnv): string {
  const file = env[`${name}_FILE`];
  const value = env[name] ?? (file ? readFileSync(file, 'utf8') : '');
  if (!value.trim()) throw new Problem(`${name} or ${name}_FILE must be set`);
  return value.trim();
}

function counts(found: Record<string, number>): string {
  return (
    Object.entries(found)
      .map(([kind, count]) => `${count} ${kind}${count === 1 ? '' : 's'}`)
      .join(', ') || 'nothing'
  );
}
