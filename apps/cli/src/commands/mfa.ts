import type { Command } from 'commander';
import { toString as drawQr } from 'qrcode';
import type { AddCommands } from '../context';
import { Problem } from '../problem';

/** `mfa enrol`: a second factor for whoever is logged in. */
export const addMfaCommands: AddCommands = (program, context) => {
  const mfa = program.command('mfa').description('Second factors for logging in.');

  mfa
    .command('enrol')
    .description('Make a one-time-password secret for yourself and draw its QR code to scan.')
    .argument('<method-id>', 'id of the TOTP method; keystead list identity/mfa/method/totp')
    .option('--entity <id>', 'enrol somebody else (administrators)')
    .action(async (methodId: string, options: { entity?: string }, command: Command) => {
      const { client, output } = context(command);
      const path = `identity/mfa/method/totp/${options.entity ? 'admin-generate' : 'generate'}`;
      const { body } = await client.post(path, { method_id: methodId, entity_id: options.entity });
      output.warnings(body?.warnings);
      const url = body?.data?.url;
      if (typeof url !== 'string')
        throw new Problem('there is a secret already; an administrator must destroy it first', 2);
      if (output.json) {
        output.show(body);
        return;
      }
      output.line(await drawQr(url, { type: 'terminal', small: true }));
      output.line(url);
      output.note('Scan the code with an authenticator, or enter the secret by hand. It is shown this once.');
    });
};
