import type { Installation } from '../backup/actions';
import type { CommandSpec } from '../command';

const keysApart = 'The seal key is never in the file: keep a copy of it elsewhere, or the file is useless.';
const ofRunning = 'folder of a running npm start: its embedded database, and the seal key next to it';
const unproven = { '--allow-unauthenticated': 'accept a backup that was made without the seal key' };
const key = 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE, or the key in the --data folder)';

/** `backup …`: one file per service, with sealed values as in the database; keys are stored separately. */
export const backupCommands: readonly CommandSpec[] = [
  {
    name: 'backup create',
    help: 'Save a consistent copy of all rows while the service runs.',
    args: {
      '<service>': 'secrets or workspaces',
      '<file>':
        'a new file; or a folder, local or s3://bucket/folder, where the program chooses the name; - for standard output',
    },
    flags: {
      '--database-url <url>': 'its database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>': ofRunning,
      '--seal-key-file <file>': `${key}; the backup notes its fingerprint, never the key`,
      '--keep <number>':
        'keep this many backups of the service in the folder or bucket, including the new one; older ones are removed ' +
        'once it is complete',
    },
    examples: [
      'backup create secrets secrets.backup',
      'backup create secrets secrets.backup -data=data',
      'backup create secrets s3://backups/keystead -keep=14',
    ],
    more: keysApart,
    async run(context, options: Installation, name: string, place: string) {
      const { create }: typeof import('../backup/actions') = require('../backup/actions');
      await context.interruption.during('no backup was saved, and partial files were removed; run it again', () =>
        create(context, options, name, place),
      );
    },
  },
  {
    name: 'backup verify',
    help: 'Read a whole backup; with the seal key, prove that it is unchanged and decrypt some of its values.',
    args: { '<file>': 'a backup; or a folder, local or s3://bucket/folder, for the newest backup of each service' },
    flags: {
      '--seal-key-file <file>': key,
      '--data <folder>': 'data folder of npm start, which contains the seal key',
      ...unproven,
    },
    examples: ['backup verify secrets.backup -seal-key-file=secrets.key'],
    async run(context, options: Installation, place: string) {
      const { verify }: typeof import('../backup/actions') = require('../backup/actions');
      await context.interruption.during('run it again', () => verify(context, options, place));
    },
  },
  {
    name: 'backup drill',
    help: 'Restore a backup into a new database, read all of it, decrypt some values, and drop that database.',
    args: { '<file>': 'a backup; or a folder, local or s3://bucket/folder, for the newest backup of each service' },
    flags: {
      '--database-url <url>':
        'a database of the server on which to create the new one; it is not changed (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, ' +
        'or these with _FILE)',
      '--data <folder>': ofRunning,
      '--seal-key-file <file>': key,
      ...unproven,
    },
    examples: ['backup drill /backups', 'backup drill /backups -data=data', 'backup drill secrets.backup'],
    more:
      'The database user must be allowed to create databases. The new database needs as much disk space as the service. The service\n' +
      'and its database are not changed. Exit code 0 if every backup was restored completely.',
    async run(context, options: Installation, place: string) {
      const { tryOut }: typeof import('../backup/actions') = require('../backup/actions');
      await context.interruption.during('the temporary database was dropped; run it again', () =>
        tryOut(context, options, place),
      );
    },
  },
  {
    name: 'backup restore',
    help: 'Restore a backup into an empty database and upgrade it to this version.',
    args: { '<file>': 'the backup: a local file or s3://bucket/folder/name.backup' },
    flags: {
      '--database-url <url>':
        'the empty database; created if it does not exist (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>':
        'data folder for a new npm start, which is not running yet; put copies of the seal keys there as well',
      '--seal-key-file <file>': `${key}; without it the backup is not checked for changes`,
      ...unproven,
    },
    examples: [
      'backup restore secrets.backup -database-url=postgresql://user:password@host:5432/secrets',
      'backup restore secrets.backup -data=restored',
    ],
    async run(context, options: Installation, place: string) {
      const { restoreFrom }: typeof import('../backup/actions') = require('../backup/actions');
      await context.interruption.during('the database was not changed; run it again', () =>
        restoreFrom(context, options, place),
      );
    },
  },
];
