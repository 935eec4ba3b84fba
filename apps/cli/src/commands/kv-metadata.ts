import type { CommandSpec } from '../command';
import { Problem } from '../problem';
import { findVersioned } from './kv-mount';
import { printOrField, printOrSay } from './print';
import { count, parsePairs } from './values';

const mount = { '--mount <path>': 'mount path of the engine; by default found from the path' } as const;
const key = { '<path>': 'the secret, for example kv/app/db, or app/db with --mount' } as const;
const settings = {
  '--max-versions <number>': 'how many versions to keep',
  '--cas-required <bool>': 'whether every write must name the newest version (true or false)',
  '--delete-version-after <duration>': 'age at which versions are deleted',
  '--custom-metadata <name=value>': { help: 'a key-value pair of the custom metadata', repeatable: true },
} as const;

interface KvMetadataFlags {
  mount?: string;
  field?: string;
  maxVersions?: string;
  casRequired?: string;
  deleteVersionAfter?: string;
  customMetadata?: string[];
  removeCustomMetadata?: string[];
}

/** `kv metadata …`: settings and custom metadata of a secret. */
export const kvMetadataCommands: readonly CommandSpec[] = [
  {
    name: 'kv metadata get',
    help: 'Show the settings, custom metadata and versions of a secret.',
    args: key,
    flags: { ...mount, '--field <name>': 'print only this field' },
    examples: ['kv metadata get kv/app/db', 'kv metadata get -field=current_version kv/app/db'],
    async run(context, flags: KvMetadataFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const answer = await context.client.get(found.at('metadata'));
      const data = answer.body?.data;
      if (flags.field || context.output.forPrograms || !data) return printOrField(context, answer, flags.field);
      const { versions = {}, ...rest } = data;
      context.output.warnings(answer.body?.warnings);
      context.output.show(rest);
      for (const [number, facts] of Object.entries(versions as Record<string, Record<string, unknown>>)) {
        context.output.line(`\nversion ${number}`);
        context.output.show(facts);
      }
    },
  },
  {
    name: 'kv metadata put',
    help: 'Set the settings and custom metadata of a secret. Custom metadata that you omit is removed.',
    args: key,
    flags: { ...mount, ...settings },
    examples: ['kv metadata put -max-versions=5 -custom-metadata=owner=ada kv/app/db'],
    async run(context, flags: KvMetadataFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const answer = await context.client.post(found.at('metadata'), bodyOf(flags));
      printOrSay(context, answer, `written: ${found.at('metadata')}`);
    },
  },
  {
    name: 'kv metadata patch',
    help: 'Change some settings and custom metadata of a secret.',
    args: key,
    flags: {
      ...mount,
      ...settings,
      '--remove-custom-metadata <name>': { help: 'a key of the custom metadata to remove', repeatable: true },
    },
    examples: ['kv metadata patch -custom-metadata=owner=bo -remove-custom-metadata=old kv/app/db'],
    async run(context, flags: KvMetadataFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      const removed = Object.fromEntries((flags.removeCustomMetadata ?? []).map((name) => [name, null]));
      const { custom_metadata, ...body } = bodyOf(flags);
      const remarks = { ...custom_metadata, ...removed };
      const change = Object.keys(remarks).length > 0 ? { ...body, custom_metadata: remarks } : body;
      const answer = await context.client.patch(found.at('metadata'), change);
      printOrSay(context, answer, `changed: ${found.at('metadata')}`);
    },
  },
  {
    name: 'kv metadata delete',
    help: 'Delete a secret permanently, with all versions.',
    args: key,
    flags: mount,
    examples: ['kv metadata delete kv/app/db'],
    async run(context, flags: KvMetadataFlags, path: string) {
      const found = await findVersioned(context, path, flags.mount);
      printOrSay(context, await context.client.delete(found.at('metadata')), `deleted: ${found.at('metadata')}`);
    },
  },
];

function bodyOf(flags: KvMetadataFlags): { custom_metadata?: Record<string, string> } & Record<string, unknown> {
  const { maxVersions, casRequired, deleteVersionAfter, customMetadata } = flags;
  if (casRequired !== undefined && !/^(true|false)$/.test(casRequired)) {
    throw new Problem(`--cas-required ${casRequired}: give true or false`);
  }
  return {
    ...(maxVersions === undefined ? {} : { max_versions: count(maxVersions, '--max-versions') }),
    ...(casRequired === undefined ? {} : { cas_required: casRequired === 'true' }),
    ...(deleteVersionAfter === undefined ? {} : { delete_version_after: deleteVersionAfter }),
    ...(customMetadata === undefined ? {} : { custom_metadata: parsePairs(customMetadata, '--custom-metadata') }),
  };
}
