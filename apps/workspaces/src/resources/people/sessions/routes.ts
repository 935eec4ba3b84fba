import { invalid } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Principal } from '../../../kernel/access/principal';
import { actorOf } from '../../../kernel/audit/audit';
import { still } from '../../../kernel/database/database';
import { endpoints, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import * as tokens from '../tokens/service';
import { changeAddress } from '../users/addresses';
import { prove } from '../users/attempts';
import { linkUrl } from '../users/links';
import { checkPassword } from '../users/password';
import { userSerializer } from '../users/serializer';
import * as users from '../users/service';
import { createReset, openLink, useLink } from './links';
import { linkPageEndpoint, tokenPageEndpoint } from './pages';
import { BeginTwoFactor, ConfirmAddress, EndTwoFactor, SignIn, UseLink, VerifyCode } from './schema';
import { linkSerializer, sessionSerializer, twoFactorSerializer } from './serializers';
import { signIn } from './service';
import { toolLoginEndpoints } from './tool-login-routes';
import * as twoFactor from './two-factor';

const nowhere = { organizationsOf: () => [] };
const sessions = endpoints({}, sessionSerializer, nowhere);
const factors = endpoints({}, twoFactorSerializer, nowhere);
const links = endpoints({}, linkSerializer, nowhere);
const people = endpoints({}, userSerializer, nowhere);

const begin = sessions.post('/session', {
  summary:
    'Sign in with a user name or email address, a password and, if the account has two-factor authentication, a code.',
  auth: 'none',
  refuses: [401],
  idempotent: false,
  body: SignIn,
  run: ({ db, env, body, request }) => signIn(db, env, request.id, body, env.now()),
});

const show = sessions.get('/session', {
  summary: 'Show the session of the token that is sent.',
  tokens: ['user'],
  run: async ({ db, principal }) => {
    const [token] = await tokens.findMany(db, [principal.tokenId]);
    if (token?.kind !== 'session') throw notFound();
    return token;
  },
});

const end = sessions.remove('/session', {
  summary: 'Sign out: end the session of the token that is sent.',
  tokens: ['user'],
  run: async ({ db, principal, ...call }) => {
    const [token] = await tokens.findMany(db, [principal.tokenId]);
    if (token?.kind !== 'session') throw notFound();
    await tokens.remove(db, actorOf({ principal, ...call }), token);
  },
});

/**
 * Checks the password. Changes of the second factor require it again, because a stolen token must not be sufficient.
 */
async function requirePassword({ db, env, principal }: FactorCall, password: string): Promise<void> {
  const user = await db.prisma.user.findUnique({ where: { id: principal.id }, select: { passwordHash: true } });
  const isRight = () => checkPassword(password, user?.passwordHash ?? null);
  if (!(await prove(db, env.keyring, principal.id, env.now(), isRight))) throw invalid('password', 'is invalid');
}
type FactorCall = Pick<Lookup<string>, 'db' | 'env' | 'principal'>;

const showFactor = factors.get('/account/two-factor', {
  summary: 'Show the two-factor authentication settings of the caller.',
  tokens: ['user'],
  run: ({ db, principal }) => twoFactor.findState(db, principal.id),
});

const beginFactor = factors.post('/account/two-factor', {
  summary:
    'Start enabling two-factor authentication. Returns the TOTP secret and recovery codes, which are shown only once.',
  tokens: ['user'],
  idempotent: false,
  body: BeginTwoFactor,
  run: async ({ db, env, principal, body }) => {
    await requirePassword({ db, env, principal }, body.password);
    return twoFactor.enrol(db, env.keyring, principal.id, principal.name);
  },
});

const verifyFactor = factors.action('/account/two-factor/actions/verify', {
  summary: 'Enable two-factor authentication with a first code.',
  tokens: ['user'],
  body: VerifyCode,
  run: ({ db, env, principal, body, ...call }) =>
    twoFactor.verify(db, env.keyring, actorOf({ principal, ...call }), principal.id, body.code, env.now()),
});

const endFactor = factors.remove('/account/two-factor', {
  summary: 'Disable two-factor authentication.',
  tokens: ['user'],
  body: EndTwoFactor,
  run: async ({ db, principal, body, ...call }) => {
    await requirePassword({ db, principal, ...call }, body.password);
    await twoFactor.disable(db, actorOf({ principal, ...call }), principal.id);
  },
});

const personIn = ({ kind, id }: Principal): string | undefined => (kind === 'user' && id !== '' ? id : undefined);
const loadLink = ({ db, env, params, principal }: Lookup<'/one-time-links/:secret'>) =>
  openLink(db, env.keyring, params.secret, personIn(principal), env.now());

const showLink = links.get('/one-time-links/:secret', {
  summary: 'Show the purpose of a link: an invitation, a password reset, or a change of email address.',
  auth: 'optional',
  load: loadLink,
  run: async ({ target }) => target,
});

const spend = people.action('/one-time-links/:secret', {
  summary:
    'Use a link, once. Accept an invitation with your account or a new one, set a new password, or verify an email address.',
  auth: 'optional',
  body: UseLink,
  load: loadLink,
  run: ({ db, env, target, principal, body, request }) =>
    useLink(db, env, target, personIn(principal), request.id, body),
});

const reset = people.action('/admin/users/:user_id/actions/reset_password', {
  summary: 'Create a link with which a user sets a new password.',
  siteAdmin: true,
  stepUp: true,
  load: ({ db, params }) => users.find(db, params.user_id),
  run: async ({ db, env, target, ...call }) => {
    const secret = await createReset(db, env.keyring, actorOf(call), target, env.now());
    return { ...target, resetUrl: linkUrl(env.publicUrl, secret) };
  },
  documentMeta: (account: users.Account & { resetUrl?: string }) => ({ 'reset-url': account.resetUrl }),
});

const confirm = people.action('/admin/users/:user_id/actions/confirm_email', {
  summary: 'Verify the new email address of a user without the link that was mailed. The request contains the address.',
  siteAdmin: true,
  stepUp: true,
  body: ConfirmAddress,
  load: ({ db, params }) => users.find(db, params.user_id),
  run: ({ db, target, body, ...call }) =>
    db.transaction(async (tx) => {
      await changeAddress(tx, actorOf(call), target.id, body.email);
      return still(await users.find(tx, target.id));
    }),
});

/** Signing in and out, second factors, invitations and password resets. */
export const sessionResource: Resource = {
  name: 'sessions',
  endpoints: [
    begin,
    show,
    end,
    showFactor,
    beginFactor,
    verifyFactor,
    endFactor,
    showLink,
    spend,
    reset,
    confirm,
    tokenPageEndpoint,
    linkPageEndpoint,
    ...toolLoginEndpoints,
  ],
};
