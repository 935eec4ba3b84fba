import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { methodRules, type UncheckedConfig } from '../../kernel/mfa/method-config';
import type { Mfa } from '../../kernel/mfa/mfa';
import type { MfaMethod } from '../../kernel/mfa/types';
import type { Namespaces } from '../../kernel/namespaces/namespaces';
import type { Call } from '../../sdk/call';
import { announced, bool, duration, id, int, string } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { listOutput, methodOutput } from './outputs';

const MethodInput = z.object({
  method_name: announced(string(), { 'x-shown-as': 'name' })
    .optional()
    .describe('A name that logins can use instead of the ID.'),
  issuer: announced(string(), methodRules.issuer)
    .optional()
    .describe('Issuer that authenticator apps show; required for a new method.'),
  period: announced(duration(), { default: String(methodRules.periodSeconds.default) })
    .optional()
    .describe(`How many seconds a code is valid, at most ${methodRules.periodSeconds.maximum}.`),
  key_size: announced(int(), methodRules.keySizeBytes).optional().describe('Length of a generated key in bytes.'),
  qr_size: announced(int(), methodRules.qrSizePixels)
    .optional()
    .describe('Width of the QR code in pixels. 0: no QR code.'),
  algorithm: announced(string(), methodRules.algorithm).optional().describe('Hash algorithm of the codes.'),
  digits: announced(int(), methodRules.digits).optional().describe('Number of digits in a code.'),
  skew: announced(int(), methodRules.skew)
    .optional()
    .describe('Number of periods before and after the current one whose codes are also accepted.'),
  max_validation_attempts: announced(int(), methodRules.maxValidationAttempts)
    .optional()
    .describe('Number of wrong codes in a row that locks the user. 0: the default.'),
  enable_self_enrollment: announced(bool(), methodRules.selfEnrolment)
    .optional()
    .describe('Allow users to create their secret during a login that requires this method.'),
  recovery_codes: announced(int(), methodRules.recoveryCodes)
    .optional()
    .describe('Number of single-use codes issued with a new secret.'),
  accept_passkeys: announced(bool(), methodRules.acceptsPasskeys)
    .optional()
    .describe('Accept a login with a passkey without a code. A passkey counts as two factors.'),
});
type MethodInput = z.output<typeof MethodInput>;
const CreateInput = MethodInput.extend({
  id: id().optional().describe('ID of the method to change.'),
  method_id: id().optional().describe('Same as method_id.'),
});

/** TOTP methods. Spec: TOTP MFA method. */
export function totpMethodPaths({ methods }: Mfa, namespaces: Namespaces): Path[] {
  const show = (method: MfaMethod) => shownMethod(namespaces, method);
  const listAll = async ({ namespace }: Call) => {
    const found = await methods.list(namespace.uuid);
    return keys(
      found.map(({ id }) => id),
      Object.fromEntries(found.map((method) => [method.id, show(method)])),
    );
  };
  const read = async (namespaceId: string, id: string) => {
    const found = await methods.find(namespaceId, id);
    return found ? data(show(found)) : missing;
  };
  return [
    path('mfa/method', {
      summary: 'MFA methods.',
      spec: 'TOTP MFA',
      list: { summary: 'List the MFA methods that this namespace can use.', output: listOutput, run: listAll },
    }),
    path('mfa/method/:method_id', {
      summary: 'An MFA method of any type.',
      params: { method_id: 'uuid' },
      read: {
        summary: 'Read an MFA method.',
        output: methodOutput,
        run: ({ namespace, params }) => read(namespace.uuid, params.method_id),
      },
    }),
    path('mfa/method/totp', {
      summary: 'TOTP methods.',
      spec: 'TOTP MFA',
      list: {
        summary: 'List the TOTP methods of this namespace and those above it.',
        output: listOutput,
        run: listAll,
      },
      write: {
        summary: 'Create a TOTP method, or change the one with this ID or name.',
        input: CreateInput,
        output: z.object({ method_id: z.string() }),
        async run({ input, namespace }) {
          const { id, method_id, ...fields } = input;
          const methodId = id || method_id;
          if (methodId) {
            const done = await methods.update(namespace.uuid, methodId, fields.method_name, fieldsOf(fields));
            return done ? empty : missing;
          }
          const written = await methods.write(namespace.uuid, fields.method_name ?? '', fieldsOf(fields));
          return data({ method_id: written });
        },
      },
    }),
    path('mfa/method/totp/:method_id', {
      summary: 'A TOTP method.',
      spec: 'TOTP MFA',
      params: { method_id: 'uuid' },
      read: {
        summary: 'Read a TOTP method.',
        output: methodOutput,
        run: ({ namespace, params }) => read(namespace.uuid, params.method_id),
      },
      write: {
        summary: 'Change a TOTP method; omitted fields keep their values. Existing secrets do not change.',
        input: MethodInput,
        async run({ input, namespace, params }) {
          const done = await methods.update(namespace.uuid, params.method_id, input.method_name, fieldsOf(input));
          return done ? empty : missing;
        },
      },
      delete: {
        summary: 'Delete a TOTP method and all its secrets. Refused while a login enforcement uses it.',
        stepUp: true,
        async run({ namespace, params }) {
          return (await methods.delete(namespace.uuid, params.method_id)) ? empty : missing;
        },
      },
    }),
    path('mfa/method/:type/:method_id', {
      summary: 'An MFA method of a type that is not supported.',
      params: { type: /^(duo|okta|pingid)$/, method_id: 'uuid' },
      read: {
        operationId: 'mfa-read-method-of-other-type',
        summary: 'Answers that the method does not exist.',
        run({ params }) {
          throw new Refusal('invalid', `failed to find the method ID under MFA type ${params.type}.`);
        },
      },
    }),
  ];
}

function fieldsOf(input: MethodInput): UncheckedConfig {
  const fields: Record<keyof UncheckedConfig, string | number | boolean | undefined> = {
    issuer: input.issuer,
    periodSeconds: input.period,
    keySizeBytes: input.key_size,
    qrSizePixels: input.qr_size,
    algorithm: input.algorithm,
    digits: input.digits,
    skew: input.skew,
    maxValidationAttempts: input.max_validation_attempts,
    selfEnrolment: input.enable_self_enrollment,
    recoveryCodes: input.recovery_codes,
    acceptsPasskeys: input.accept_passkeys,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function shownMethod(namespaces: Namespaces, method: MfaMethod): Record<string, unknown> {
  const { id = '', path = '' } = namespaces.find(method.namespaceId) ?? {};
  return {
    ...(method.acceptsPasskeys && { accept_passkeys: true }),
    algorithm: method.algorithm,
    digits: method.digits,
    ...(method.selfEnrolment && { enable_self_enrollment: true }),
    id: method.id,
    issuer: method.issuer,
    key_size: method.keySizeBytes,
    max_validation_attempts: method.maxValidationAttempts,
    name: method.name,
    namespace: path,
    namespace_id: id,
    namespace_path: path,
    period: method.periodSeconds,
    qr_size: method.qrSizePixels,
    ...(method.recoveryCodes > 0 && { recovery_codes: method.recoveryCodes }),
    skew: method.skew,
    type: 'totp',
  };
}
