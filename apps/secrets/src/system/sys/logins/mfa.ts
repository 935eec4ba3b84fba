import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { MfaLogins } from '../../../kernel/mfa/logins';
import { object, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { type Login, login } from '../../../sdk/reply';

const ValidateInput = z.object({
  mfa_request_id: string().optional().describe('The mfa_request_id in the response of the login.'),
  mfa_payload: object().optional().describe('A map from method IDs or names to a list that contains the passcode.'),
});

/** The second step of a login that needs a second factor. Spec: TOTP MFA method. */
export function mfaValidatePath(logins: MfaLogins): Path {
  return path('mfa/validate', {
    summary: 'The MFA step of a login.',
    auth: 'none',
    write: {
      operationId: 'mfa-validate',
      summary: 'Complete a login with MFA.',
      judges: 'one-time code',
      input: ValidateInput,
      async run({ input, namespace }) {
        if (!input.mfa_request_id) throw new Refusal('invalid', 'missing request ID');
        const passcodes = passcodesOf(input.mfa_payload ?? {});
        const finished = await logins.validate(namespace.uuid, input.mfa_request_id, passcodes);
        const { mountId: mountUuid, path: at, address, entityId } = finished;
        return login(finished.login as Login, { mountUuid, path: at, address, entityId });
      },
    },
  });
}

/** Passcodes come as one-element lists or bare, as `123456` or `passcode=123456`. */
function passcodesOf(payload: Readonly<Record<string, unknown>>): Map<string, string> {
  const passcodes = new Map<string, string>();
  for (const [method, value] of Object.entries(payload)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (typeof first !== 'string' && typeof first !== 'number') continue;
    const text = String(first);
    passcodes.set(method, text.startsWith('passcode=') ? text.slice('passcode='.length) : text);
  }
  return passcodes;
}
