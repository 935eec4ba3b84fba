import type { Installation } from '../backup/work';
import type { CommandSpec } from '../command';

const keysApart = 'The seal key is never in the file: keep a copy of it elsewhere, or the file is worth nothing.';

/** `backup …`: one file per service, its values sealed as they are in the database; keys are kept apart. */
export const backupCommands: readonly CommandSpec[] = [
  {
    name: 'backup create',
    help: 'Save all rows as of one moment, while the service runs.',
    args: {
      '<service>': 'secrets or workspaces',
      '<file>':
        'must not exist yet; or a folder, here or s3://bucket/folder, where it gets a name; - for standard output',
    },
    flags: {
      '--database-url <url>': 'its database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>': 'folder of a running npm start, when it uses the embedded database',
      '--seal-key-file <file>': 'notes which key opens the backup (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)',
      '--keep <number>':
        'in a folder or bucket: so many of the service, the new one too; older ones are removed once it is whole',
    },
    examples: ['backup create secrets secrets.backup', 'backup create secrets s3://backups/keystead -keep=14'],
    more: keysApart,
    async run(context, options: Installation, name: string, place: string) {
      const { create }: typeof import('../backup/work') = require('../backup/work');
      await create(context, options, name, place);
    },
  },
  {
    name: 'backup verify',
    help: 'Read a backup to its end; with the seal key also open its keyring and some of its values.',
    args: { '<file>': 'the backup; or a folder, here or s3://bucket/folder: then the newest of each service' },
    flags: { '--seal-key-file <file>': 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)' },
    examples: ['backup verify secrets.backup -seal-key-file=secrets.key'],
    async run(context, options: Installation, place: string) {
      const { verify }: typeof import('../backup/work') = require('../backup/work');
      await verify(context, options, place);
    },
  },
  {
    name: 'backup drill',
    help: 'Bring a backup back into a database of its own, read all of it again, open some values, and take it away.',
    args: { '<file>': 'the backup; or a folder, here or s3://bucket/folder: then the newest of each service' },
    flags: {
      '--database-url <url>':
        'any database of the server to use (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>': 'folder of a running npm start, when it uses the embedded database',
      '--seal-key-file <file>': 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)',
    },
    examples: ['backup drill /backups', 'backup drill secrets.backup -seal-key-file=secrets.key'],
    more: 'The database is made on the server, so its user must be allowed to; it needs as much room as the restored service.',
    async run(context, options: Installation, place: string) {
      const { tryOut }: typeof import('../backup/work') = require('../backup/work');
      await tryOut(context, options, place);
    },
  },
  {
    name: 'backup restore',
    help: 'Bring a backup back into an empty database, and up to this version.',
    args: { '<file>': 'the backup, here or s3://bucket/folder/name.backup' },
    flags: {
      '--database-url <url>': 'the empty database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
    },
    examples: ['backup restore secrets.backup -database-url=postgresql:///secrets'],
    async run(context, options: Installation, place: string) {
      const { restoreFrom }: typeof import('../backup/work') = require('../backup/work');
      await restoreFrom(context, options, place);
    },
  },
];
