import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import {
  creationOptions,
  mostPasskeys,
  NewPasskeyAnswer,
  PasskeyAnswer,
  type PasskeyParts,
  requestOptions,
  verifyAnswer,
  verifyNew,
} from '@keystead/passkeys';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { single } from '../../sdk/collection';
import { object, secretString, string } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, empty, keys, type LoginReply } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import type { Passwords } from './password';
import { holderOf, holders, inTurnOf, passkeysOf, type UserPasskey } from './stored-passkeys';
import { type User, usernameParam, users } from './user';

const challengeKey = single('passkeys/challenge-key', z.object({ key: z.string() }));

const nonce = string()
  .optional()
  .describe('Random string that the client sends in both steps, so that no other client can finish its login.');
const credential = object()
  .optional()
  .describe('The result of `navigator.credentials`, as JSON (`PublicKeyCredential.toJSON`).');
const optionsOutput = z.looseObject({ challenge: z.string().describe('Random bytes in base64url.') });
const listOutput = z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.looseObject({})) });

const own = { auth: 'optional' } as const;
const anonymous = { auth: 'none' } as const;

/**
 * Passkeys (WebAuthn): a user registers them with the token of a login and the password, and logs in with one
 * instead of the password. `loginOf` returns the login of a user.
 */
export function passkeyPaths(
  passwords: Passwords,
  publicUrl: string | undefined,
  loginOf: (call: Call, username: string, user: User) => LoginReply,
): Path[] {
  const partsOf = async (
    { storage, nowMs }: Pick<Call, 'storage' | 'nowMs'>,
    keyIfNone = newKey,
  ): Promise<PasskeyParts> => {
    if (publicUrl === undefined) {
      throw new Refusal('invalid', 'passkeys need the public URL of the service: set SECRETS_PUBLIC_URL');
    }
    const { key } = (await challengeKey.find(storage)) ?? (await keyIfNone(storage));
    return { publicUrl, mac: (text) => createHmac('sha256', key).update(text).digest(), now: () => nowMs };
  };
  const listOf = async (storage: Storage, username: string) => {
    const stored = (await passkeysOf.find(storage, username)) ?? [];
    return keys(
      stored.map(({ id }) => id),
      Object.fromEntries(stored.map((one) => [one.id, shown(one)])),
    );
  };
  const remove = async (storage: Storage, username: string, id: string) => {
    await storage.transaction(`passkeys/of/${username}`, async (tx) => {
      const stored = (await passkeysOf.find(tx, username)) ?? [];
      const passkey = stored.find((one) => one.id === id);
      if (!passkey) return;
      holders.delete(tx, holderOf(passkey.credentialId));
      passkeysOf.put(
        tx,
        username,
        stored.filter((one) => one !== passkey),
      );
    });
    return empty;
  };
  return [
    path('passkey/register/begin', {
      summary: 'The first step of registering a passkey.',
      ...own,
      write: {
        operationId: 'begin-passkey-registration',
        summary:
          'Return the options for `navigator.credentials.create`. Send a token from your own login with this method.',
        output: optionsOutput,
        judges: 'nothing',
        async run(call) {
          const { username, binding } = await ownLogin(call);
          const stored = await storedOf(call.storage, username);
          if (stored.length >= mostPasskeys) throw tooMany();
          const user = { id: handleOf(call.mount.uuid, username), name: username };
          return data({ ...(await creationOptions(await partsOf(call, keepNewKey), binding, user, stored)) });
        },
      },
    }),
    path('passkey/register', {
      summary: 'Registers a passkey.',
      ...own,
      write: {
        operationId: 'register-passkey',
        summary: 'Store a new passkey for your own user. Needs your token and password.',
        input: z.object({
          name: string().optional().describe('Name of the passkey, at most 100 characters.'),
          password: secretString().optional().describe("The user's password."),
          credential,
        }),
        output: z.object({ id: z.string() }),
        judges: 'password',
        async run(call) {
          const { username, binding } = await ownLogin(call);
          const { input, storage, nowMs } = call;
          const { password = '' } = input;
          const name = (input.name ?? '').trim();
          if (name === '' || name.length > 100) throw wrong('name', 'must have 1 to 100 characters');
          const answer = NewPasskeyAnswer.safeParse(input.credential);
          if (!answer.success) throw wrong('credential', 'is not the response for a new passkey');
          const isRight = await call.guess(username, async () => {
            const user = await users.find(storage, username);
            return (await passwords.matches(password, user?.passwordHash)) || undefined;
          });
          if (!isRight) throw new Refusal('invalid', 'invalid username or password');
          const verified = await verifyNew(await partsOf(call), binding, answer.data);
          if (!verified) throw wrong('credential', 'does not belong to a current challenge for this user');
          const id = randomUUID();
          const { publicKey, ...rest } = verified;
          const passkey = { ...rest, id, name, publicKey: toBase64(publicKey), createdAtMs: nowMs };
          await inTurnOf(storage, username, async (tx) => {
            const stored = await storedOf(tx, username);
            if (stored.length >= mostPasskeys) throw tooMany();
            const holder = holderOf(passkey.credentialId);
            if (await holders.find(tx, holder)) throw wrong('credential', 'is already registered');
            holders.put(tx, holder, { username });
            passkeysOf.put(tx, username, [...stored, passkey]);
          });
          return data({ id });
        },
      },
    }),
    path('passkey/login/begin', {
      summary: 'The first step of a login with a passkey.',
      ...anonymous,
      write: {
        operationId: 'begin-passkey-login',
        summary: 'Return the options for `navigator.credentials.get`.',
        input: z.object({ client_nonce: nonce }),
        output: optionsOutput,
        judges: 'nothing',
        async run(call) {
          return data({ ...(await requestOptions(await partsOf(call), loginBinding(call.input.client_nonce))) });
        },
      },
    }),
    path('passkey/login', {
      summary: 'Logs a user in with a passkey.',
      ...anonymous,
      write: {
        operationId: 'login-with-passkey',
        summary: 'Log in with a passkey.',
        input: z.object({ credential, client_nonce: nonce }),
        judges: 'unguessable',
        async run(call) {
          const answer = PasskeyAnswer.safeParse(call.input.credential);
          if (!answer.success) throw wrong('credential', 'is not a passkey response');
          const binding = loginBinding(call.input.client_nonce);
          const username = await holderOfAnswer(call, await partsOf(call), binding, answer.data);
          const user = username === undefined ? undefined : await users.find(call.storage, username);
          if (username === undefined || !user) throw new Refusal('invalid', 'this passkey is not registered here');
          if (await call.isLocked(username)) {
            throw new Refusal(
              'denied',
              'this user is locked after too many wrong passwords: wait, or ask an administrator to unlock the user',
            );
          }
          const reply = loginOf(call, username, user);
          return { ...reply, login: { ...reply.login, withPasskey: true } };
        },
      },
    }),
    path('passkeys', {
      summary: 'The caller’s own passkeys.',
      ...own,
      list: {
        operationId: 'list-own-passkeys',
        summary: 'List the caller’s own passkeys.',
        output: listOutput,
        judges: 'nothing',
        run: async (call) => listOf(call.storage, (await ownLogin(call)).username),
      },
    }),
    path('passkeys/:id', {
      summary: 'One of the caller’s own passkeys.',
      ...own,
      delete: {
        operationId: 'delete-own-passkey',
        summary: 'Delete one of the caller’s own passkeys. Also succeeds if it does not exist.',
        stepUp: true,
        judges: 'nothing',
        run: async (call) => remove(call.storage, (await ownLogin(call)).username, call.params.id),
      },
    }),
    path('users/:username/passkeys', {
      summary: 'The passkeys of a user.',
      ...usernameParam,
      list: {
        summary: 'List the passkeys of a user.',
        output: listOutput,
        run: ({ storage, params }) => listOf(storage, params.username),
      },
    }),
    path('users/:username/passkeys/:id', {
      summary: 'A passkey of a user.',
      ...usernameParam,
      delete: {
        summary: 'Delete a passkey of a user. Also succeeds if it does not exist.',
        stepUp: true,
        run: ({ storage, params }) => remove(storage, params.username, params.id),
      },
    }),
  ];
}

/**
 * The user whose token was sent. It must be the token of a login at this mount: neither a child of that token, nor the
 * token of an earlier user with the same name. Throws `denied` otherwise.
 */
async function ownLogin({ caller, mount, storage }: Call): Promise<{ username: string; binding: string }> {
  const token = caller.token?.mountId === mount.uuid ? caller.token : undefined;
  const username = token?.meta?.username;
  const user = username === undefined ? undefined : await users.find(storage, username);
  if (token === undefined || username === undefined || !user || token.createdAtMs < (user.createdAtMs ?? 0)) {
    throw new Refusal('denied', 'send the token of your own login at this method');
  }
  return { username, binding: JSON.stringify(['register', username, token.hash]) };
}

const loginBinding = (nonce = ''): string => JSON.stringify(['login', nonce]);

/** The user whose passkey signed the challenge correctly; each signature is accepted once. */
async function holderOfAnswer(
  { storage, nowMs }: Call,
  parts: PasskeyParts,
  binding: string,
  answer: PasskeyAnswer,
): Promise<string | undefined> {
  const found = await verifyAnswer(parts, binding, answer, async (credentialId) => {
    const username = (await holders.find(storage, holderOf(credentialId)))?.username;
    const stored = username === undefined ? undefined : await passkeysOf.find(storage, username);
    const passkey = stored?.find((one) => one.credentialId === credentialId);
    return passkey && { ...passkey, username: username!, publicKey: Buffer.from(passkey.publicKey, 'base64') };
  });
  if (!found) return undefined;
  const { counter, askedAtMs } = found;
  const { username, id } = found.passkey;
  return storage.transaction(`passkeys/of/${username}`, async (tx) => {
    const stored = (await passkeysOf.find(tx, username)) ?? [];
    const passkey = stored.find((one) => one.id === id);
    const isNewer = passkey && passkey.askedAtMs < askedAtMs;
    // A counter that does not grow means that the authenticator was copied.
    if (!isNewer || (counter > 0 ? passkey.counter >= counter : passkey.counter !== 0)) return undefined;
    const used = { ...passkey, counter, askedAtMs, usedAtMs: nowMs };
    passkeysOf.put(
      tx,
      username,
      stored.map((one) => (one === passkey ? used : one)),
    );
    return username;
  });
}

/** The passkeys of an existing user. Throws `invalid`. */
async function storedOf(storage: Storage, username: string): Promise<readonly UserPasskey[]> {
  await users.require(storage, username, 'username does not exist');
  return (await passkeysOf.find(storage, username)) ?? [];
}

/** The user id for authenticators. A second passkey of a user on the same device replaces the first. */
const handleOf = (mountUuid: string, username: string): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([mountUuid, username]))
    .digest();

/**
 * A temporary key that is not stored. It is sufficient, because no response can be valid before the first registration.
 */
const newKey = async (_storage: Storage) => ({ key: randomBytes(32).toString('base64') });

const keepNewKey = (storage: Storage) =>
  storage.transaction('passkeys/challenge-key', async (tx) => {
    const stored = (await challengeKey.find(tx)) ?? (await newKey(tx));
    challengeKey.put(tx, stored);
    return stored;
  });

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const shown = ({ name, createdAtMs, usedAtMs }: UserPasskey) => ({
  name,
  created_time: new Date(createdAtMs).toISOString(),
  last_used_time: usedAtMs === undefined ? null : new Date(usedAtMs).toISOString(),
});
const tooMany = (): Refusal => new Refusal('invalid', `a user has at most ${mostPasskeys} passkeys`);
const wrong = (field: string, message: string): Refusal =>
  new Refusal('invalid', `${field} ${message}`, [{ path: [field], message }]);
