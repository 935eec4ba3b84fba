import { invalidAll } from '@keystead/jsonapi';
import { PasskeyAnswer } from '@keystead/passkeys';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';

const password = z.string().min(1).max(1024);
const code = z.string().min(1).max(64);
const token = z.string().min(1).max(512);

/** The credentials that a person signs in to the console with. */
export const Proof = z.discriminatedUnion('method', [
  z.strictObject({
    method: z.literal('password'),
    username: z.string().min(1).max(254),
    password,
    code: code.optional(),
    passkey: PasskeyAnswer.optional(),
  }),
  z.strictObject({ method: z.literal('token'), token }),
  z.strictObject({ method: z.literal('passkey'), passkey: PasskeyAnswer }),
]);
/** The credentials that a person confirms their identity with. */
export const Again = z.union([
  z.strictObject({ password }),
  z.strictObject({ code }),
  z.strictObject({ token }),
  z.strictObject({ passkey: PasskeyAnswer }),
]);

/** Throws `invalid`. The message contains the problem, but none of the sent values. */
export function parseProof<T>(schema: z.ZodType<T>, input: unknown, whole: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.filter(({ path }) => path.length > 0);
  if (issues.length === 0) throw new Refusal('invalid', whole);
  throw invalidAll(issues.map(({ path, message }) => ({ path: path.map(String), message })));
}
