import type { CommandSpec } from '../command';
import { Problem } from '../problem';

/** `mfa enrol`: a second factor for the current user. */
export const mfaCommands: readonly CommandSpec[] = [
  {
    name: 'mfa enrol',
    help: 'Create a TOTP secret for yourself and draw its QR code to scan.',
    args: { '<method-id>': 'id of the TOTP method; keystead list identity/mfa/method/totp' },
    flags: { '--entity <id>': 'enrol another user (administrators)' },
    examples: ['mfa enrol 3b7e9a50-0c1d-4a55-8a86-2b1f0c6b4c2e'],
    async run({ client, output }, options: { entity?: string }, methodId: string) {
      const path = `identity/mfa/method/totp/${options.entity ? 'admin-generate' : 'generate'}`;
      const { body } = await client.post(path, { method_id: methodId, entity_id: options.entity });
      output.warnings(body?.warnings);
      const url = body?.data?.url;
      if (typeof url !== 'string')
        throw new Problem('a secret already exists; an administrator must destroy it first', 2);
      if (output.forPrograms) {
        output.show(body);
        return;
      }
      const { toString: drawQr } = await import('qrcode');
      output.line(await drawQr(url, { type: 'terminal', small: true }));
      output.line(url);
      output.note('Scan the code with an authenticator, or enter the secret by hand. It is shown only once.');
    },
  },
];
