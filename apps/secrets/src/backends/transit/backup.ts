import { z } from 'zod';
import { announced, bool, secretString } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty } from '../../sdk/reply';
import { backupText, parseBackup } from './backup-text';
import { decodeBase64 } from './base64';
import { changeKey, requireKey } from './key';

/** Backs up a key as plaintext. */
export const backupPath = path('backup/:name', {
  summary: 'Backs up a key in plaintext.',
  read: {
    summary:
      'Read a key with all versions and settings in plaintext, to restore it elsewhere. The key must allow this.',
    operationId: 'back-up-key',
    stepUp: true,
    output: z.object({ backup: z.string() }),
    async run({ params, storage, nowMs }) {
      const absent = `key ${JSON.stringify(params.name)} not found`;
      await requireKey(storage, params.name, absent);
      const key = await changeKey(storage, params.name, (found) => {
        if (!found) refuse(absent);
        if (!found.exportable) refuse('exporting is disallowed on the policy');
        if (!found.allow_plaintext_backup) refuse('plaintext backup is disallowed on the policy');
        return { ...found, backup_info: { time: new Date(nowMs).toISOString(), version: found.latest_version } };
      });
      return data({ backup: backupText(params.name, key) });
    },
  },
});

const RestoreInput = z.object({
  backup: secretString().optional().describe('The response of a backup.'),
  force: announced(bool(), { default: false }).optional().describe('Replace an existing key with this name.'),
});

const nameRule = /^\w(([\w.-]+)?\w)?$/;

const restoreOperation = operation<{ readonly name?: string }, typeof RestoreInput>({
  summary: 'Restore a key from a backup, under its own name or another.',
  stepUp: true,
  largeBody: true,
  input: RestoreInput,
  async run({ input, params, storage, nowMs }) {
    if (!input.backup) refuse("'backup' must be supplied");
    decodeBase64(input.backup);
    const restored = parseBackup(input.backup);
    const name = params.name ?? restored.name;
    if (!nameRule.test(name)) refuse('key names cannot be paths');
    const restore_info = { time: new Date(nowMs).toISOString(), version: restored.key.latest_version };
    await changeKey(storage, name, (found) => {
      if (found && !input.force) refuse(`key ${JSON.stringify(name)} already exists`);
      return { ...restored.key, restore_info };
    });
    return empty;
  },
});

/** Restore a key from a backup. */
export const restorePaths = [
  path('restore', {
    summary: 'Restores keys.',
    write: { ...restoreOperation, operationId: 'restore-key' },
  }),
  path('restore/:name', {
    summary: 'Restores keys under another name.',
    write: { ...restoreOperation, operationId: 'restore-and-rename-key' },
  }),
];
