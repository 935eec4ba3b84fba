import { PasskeyAnswer } from '@keystead/passkeys';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';

const text = z.string().max(8192);
const name = z.string().min(1).max(512);

const password = {
  username: name,
  password: text.min(1),
  code: text.optional(),
  namespace: text.optional(),
};

const signIn = z.discriminatedUnion('method', [
  z.object({ method: z.literal('token'), token: text.min(1), namespace: text.optional() }),
  z.object({ method: z.literal('userpass'), mount: name.default('userpass/'), ...password }),
  z.object({ method: z.literal('ldap'), mount: name.default('ldap/'), ...password }),
  z.object({
    method: z.literal('oidc'),
    mount: name.default('oidc/'),
    namespace: text.optional(),
    /** The code from the provider. */
    state: text.optional(),
    authorization: text.optional(),
    iss: text.optional(),
    /** The nonce that the page chose at the start. */
    nonce: text.optional(),
    /** A login that waits for its second factor, and the code. */
    request: text.optional(),
    code: text.optional(),
  }),
  z.object({
    method: z.literal('passkey'),
    mount: name.default('userpass/'),
    namespace: text.optional(),
    /** What the browser returned, and the nonce that the page chose; absent once a login waits for its code. */
    passkey: PasskeyAnswer.optional(),
    nonce: text.optional(),
    request: text.optional(),
    code: text.optional(),
  }),
]);

const stepUp = z.union([
  z.object({ password: text.min(1) }),
  z.object({ token: text.min(1) }),
  z.object({ code: text.min(1) }),
  z.object({ passkey: PasskeyAnswer, nonce: text.optional() }),
]);

/** The credentials of a sign-in. */
export type SignIn = z.output<typeof signIn>;
/** A name and a password. */
export type PasswordSignIn = Extract<SignIn, { method: 'userpass' | 'ldap' }>;
/** A person who returns from their provider. */
export type ProviderSignIn = Extract<SignIn, { method: 'oidc' }>;
/** A person who shows a passkey. */
export type PasskeySignIn = Extract<SignIn, { method: 'passkey' }>;
/** The proof of a step-up. */
export type StepUpProof = z.output<typeof stepUp>;

/** Parses the body of a sign-in. Throws `invalid`, naming the field; never repeats a value. */
export const parseSignIn = (sent: unknown): SignIn => parse(signIn, sent);

/** Parses the body of a step-up. Throws `invalid`. */
export const parseStepUp = (sent: unknown): StepUpProof => {
  const parsed = stepUp.safeParse(sent);
  if (parsed.success) return parsed.data;
  throw new Refusal('invalid', 'send one of password, token, code and passkey');
};

function parse<T>(schema: z.ZodType<T>, sent: unknown): T {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, code }) => ({
    path: path.map((step) => (typeof step === 'number' ? step : String(step))),
    message:
      code === 'too_big'
        ? 'is too long'
        : path[0] === 'method'
          ? 'must be token, userpass, ldap, oidc or passkey'
          : 'is required',
  }));
  throw new Refusal('invalid', 'unknown sign-in method', issues);
}
