import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Identity } from '../../kernel/identity/identity';
import type { Mfa } from '../../kernel/mfa/mfa';
import type { MfaMethod, NewSecret } from '../../kernel/mfa/types';
import type { Call } from '../../sdk/call';
import { id } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, empty } from '../../sdk/reply';

const methodId = id().optional().describe('ID of the method.');
const entityId = id().optional().describe('ID of the entity to which the secret belongs.');
const OwnInput = z.object({ method_id: methodId });
const AdminInput = z.object({ method_id: methodId, entity_id: entityId });
const EnrolInput = z.object({
  mfa_method_id: id().optional().describe('ID of the method.'),
  mfa_request_id: id().optional().describe('The mfa_request_id of the login that requires this method.'),
});
const Result = z.object({
  barcode: z.string().describe('PNG image of the QR code in base64.'),
  url: z.string().describe('The otpauth URI.'),
  recovery_codes: z.array(z.string()).optional().describe('Single-use codes; shown only once.'),
});

/** Secrets of TOTP methods. Spec: TOTP secret generation result. */
export function totpSecretPaths(mfa: Mfa, { views }: Identity): Path[] {
  const { secrets } = mfa;
  const generate = async (call: Call, method: MfaMethod, entity: string) => {
    const secret = await secrets.generate(method, entity);
    if (secret) return data(shown(secret));
    call.warn(`Entity already has a secret for MFA method ${JSON.stringify(method.name)}`);
    return data(null);
  };
  const admin = async ({ input, namespace }: Call<unknown, z.output<typeof AdminInput>>, missingEntity: string) => {
    if (!input.method_id) throw new Refusal('invalid', 'missing method ID');
    if (!input.entity_id) throw new Refusal('invalid', missingEntity);
    const method = await requireMethod(mfa, namespace.uuid, input.method_id);
    if ((await views.of(input.entity_id))?.namespaceId !== namespace.uuid) {
      throw new Refusal('invalid', 'invalid entity ID', [{ path: ['entity_id'], message: 'unknown' }]);
    }
    return { method, entity: input.entity_id };
  };
  return [
    path('mfa/method/totp/generate', {
      summary: 'The TOTP secret of the calling entity.',
      spec: 'TOTP MFA',
      write: {
        operationId: 'mfa-generate-totp-secret',
        summary: 'Generate a secret for the calling entity, if it has none.',
        stepUp: true,
        input: OwnInput,
        output: Result,
        async run(call) {
          if (!call.input.method_id) throw new Refusal('invalid', 'missing method ID');
          if (!call.caller.entityId) throw new Refusal('invalid', 'missing entityID');
          const method = await requireMethod(mfa, call.namespace.uuid, call.input.method_id);
          return generate(call, method, call.caller.entityId);
        },
      },
    }),
    path('mfa/method/totp/admin-generate', {
      summary: 'TOTP secrets of entities.',
      spec: 'TOTP MFA',
      write: {
        operationId: 'mfa-admin-generate-totp-secret',
        summary: 'Generate a secret for an entity, if it has none.',
        stepUp: true,
        input: AdminInput,
        output: Result,
        async run(call) {
          const { method, entity } = await admin(call, 'missing entityID');
          return generate(call, method, entity);
        },
      },
    }),
    path('mfa/method/totp/admin-destroy', {
      summary: 'Removes TOTP secrets of entities.',
      spec: 'TOTP MFA',
      write: {
        operationId: 'mfa-admin-destroy-totp-secret',
        summary: 'Delete the secret of an entity, so that a new one can be generated. Also succeeds if there is none.',
        stepUp: true,
        input: AdminInput,
        async run(call) {
          const { method, entity } = await admin(call, 'missing entity ID');
          await secrets.destroy(method.id, entity);
          return empty;
        },
      },
    }),
    path('mfa/method/totp/admin-unlock', {
      summary: 'Unlocks entities after too many wrong codes.',
      write: {
        operationId: 'mfa-admin-unlock-totp-secret',
        summary: 'Unlock an entity and reset its count of wrong codes.',
        input: AdminInput,
        async run(call) {
          const { method, entity } = await admin(call, 'missing entity ID');
          await secrets.unlock(method.id, entity);
          return empty;
        },
      },
    }),
    path('mfa/method/totp/self-enroll', {
      summary: 'Generates a secret during a login that requires one.',
      auth: 'none',
      write: {
        operationId: 'mfa-self-enroll-totp-secret',
        summary:
          'Generate a secret. It is stored when the login is completed with one of its codes. Works once per login.',
        input: EnrolInput,
        judges: 'unguessable',
        output: Result,
        async run({ input, namespace }) {
          if (!input.mfa_request_id) throw new Refusal('invalid', 'missing request ID');
          if (!input.mfa_method_id) throw new Refusal('invalid', 'missing method ID');
          return data(shown(await mfa.logins.enrol(namespace.uuid, input.mfa_request_id, input.mfa_method_id)));
        },
      },
    }),
  ];
}

function shown({ barcode, url, recoveryCodes }: NewSecret): Record<string, unknown> {
  return { barcode, url, ...(recoveryCodes.length > 0 && { recovery_codes: recoveryCodes }) };
}

async function requireMethod(mfa: Mfa, namespaceId: string, id: string): Promise<MfaMethod> {
  const method = await mfa.methods.find(namespaceId, id);
  if (method) return method;
  const message = `configuration for method ID ${JSON.stringify(id)} does not exist`;
  throw new Refusal('invalid', message, [{ path: ['method_id'], message }]);
}
