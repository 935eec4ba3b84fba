import type { CommandSpec } from '../command';
import { attributesOf, findService } from '../workspaces/service';
import { count } from './values';

const columns = ['name', 'email', 'created-at', 'default-execution-mode', 'external-id'];

/** `org …`: organizations of the workspace service. */
export const organizationCommands: readonly CommandSpec[] = [
  {
    name: 'org list',
    help: 'List the organizations that you can see.',
    flags: {},
    examples: ['org list'],
    async run(context) {
      const found = await findService(context).list('organizations');
      const rows = found.map(({ attributes = {} }) => [attributes.name, attributes.email, attributes['created-at']]);
      context.output.rows(found, ['name', 'email', 'created'], rows);
    },
  },
  {
    name: 'org show',
    help: 'Show an organization.',
    args: { '<name>': 'the organization' },
    flags: {},
    examples: ['org show harbour'],
    async run(context, _, name: string) {
      const found = await findService(context).get(`organizations/${encodeURIComponent(name)}`);
      context.output.show(found, attributesOf(found, columns));
    },
  },
  {
    name: 'org create',
    help: 'Create an organization.',
    args: { '<name>': 'the organization' },
    flags: {
      '--email <address>': { help: 'email address of its owners', required: true },
      '--execution-mode <mode>': 'where runs of its workspaces take place: remote, local or agent',
      '--session-timeout <minutes>': 'how long sessions may idle',
    },
    examples: ['org create -email=crew@example.com harbour'],
    async run(context, flags: { email: string; executionMode?: string; sessionTimeout?: string }, name: string) {
      const found = await findService(context).create('organizations', {
        type: 'organizations',
        attributes: {
          name,
          email: flags.email,
          ...(flags.executionMode ? { 'default-execution-mode': flags.executionMode } : {}),
          ...(flags.sessionTimeout ? { 'session-timeout': count(flags.sessionTimeout, '--session-timeout') } : {}),
        },
      });
      context.output.show(found, attributesOf(found, columns));
    },
  },
  {
    name: 'org delete',
    help: 'Delete an organization and everything in it.',
    args: { '<name>': 'the organization' },
    flags: {},
    examples: ['org delete harbour'],
    async run(context, _, name: string) {
      await findService(context).remove(`organizations/${encodeURIComponent(name)}`);
      context.output.note(`deleted: ${name}`);
    },
  },
];
