import type { CommandSpec } from '../command';
import { printNames } from './data';
import { printData, printOrSay } from './print';
import { parsePairs } from './values';

interface NamespaceFlags {
  customMetadata?: string[];
  removeCustomMetadata?: string[];
  detailed?: boolean;
  field?: string;
}

const path = { '<path>': 'path below the current namespace, for example team' } as const;
const remarks = {
  '--custom-metadata <name=value>': { help: 'a key-value pair of the custom metadata', repeatable: true as const },
};

/** `namespace …`: isolated parts of the secrets service. */
export const namespaceCommands: readonly CommandSpec[] = [
  {
    name: 'namespace list',
    help: 'List the child namespaces of the current namespace.',
    flags: { '--detailed': 'with ids and custom metadata' },
    examples: ['namespace list', 'namespace list -detailed -format=json'],
    async run(context, { detailed }: NamespaceFlags) {
      const answer = await context.client.list('sys/namespaces');
      const info = (answer.body?.data?.key_info ?? {}) as Record<string, Record<string, unknown>>;
      if (!detailed) return printNames(context, answer);
      const rows = Object.entries(info).map(([name, one]) => [name, one.id, one.uuid, one.custom_metadata]);
      context.output.rows(info, ['path', 'id', 'uuid', 'remarks'], rows);
    },
  },
  {
    name: 'namespace create',
    help: 'Create a namespace.',
    args: path,
    flags: { ...remarks, '--field <name>': 'print only this field' },
    examples: ['namespace create -custom-metadata=owner=ada team'],
    async run(context, flags: NamespaceFlags, name: string) {
      const custom_metadata = flags.customMetadata && parsePairs(flags.customMetadata, '--custom-metadata');
      printData(context, await context.client.put(`sys/namespaces/${name}`, { custom_metadata }), flags.field);
    },
  },
  {
    name: 'namespace lookup',
    help: 'Show a namespace.',
    args: path,
    flags: {},
    examples: ['namespace lookup team'],
    async run(context, _, name: string) {
      printData(context, await context.client.get(`sys/namespaces/${name}`));
    },
  },
  {
    name: 'namespace patch',
    help: 'Change the custom metadata of a namespace.',
    args: path,
    flags: {
      ...remarks,
      '--remove-custom-metadata <name>': { help: 'a key of the custom metadata to remove', repeatable: true },
      '--field <name>': 'print only this field',
    },
    examples: ['namespace patch -custom-metadata=owner=bo -remove-custom-metadata=old team'],
    async run(context, flags: NamespaceFlags, name: string) {
      const removed = (flags.removeCustomMetadata ?? []).map((one): [string, null] => [one, null]);
      const custom_metadata = {
        ...parsePairs(flags.customMetadata, '--custom-metadata'),
        ...Object.fromEntries(removed),
      };
      printData(context, await context.client.patch(`sys/namespaces/${name}`, { custom_metadata }), flags.field);
    },
  },
  {
    name: 'namespace delete',
    help: 'Delete a namespace and everything in it.',
    args: path,
    flags: {},
    examples: ['namespace delete team'],
    async run(context, _, name: string) {
      printOrSay(context, await context.client.delete(`sys/namespaces/${name}`), `deleted: ${name}`);
    },
  },
];
