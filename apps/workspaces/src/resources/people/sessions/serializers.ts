import { credential, flag, hasOne, instant, text, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Token } from '../tokens/service';
import type { OpenedLink } from './links';
import type { TwoFactorState } from './two-factor';

/** A session. Its token is shown once, in the response to signing in. */
export const sessionSerializer = serializerOf<Token>()({
  type: 'sessions',
  shape: {
    token: credential.nullable(),
    'created-at': instant,
    'last-used-at': instant.nullable(),
    'expired-at': instant.nullable(),
  },
  relations: { user: hasOne('users') },
  id: (token) => token.id,
  self: () => '/api/v2/session',
  attributes: (token) => ({
    token: token.secret ?? null,
    'created-at': token.createdAt.toISOString(),
    'last-used-at': token.lastUsedAt?.toISOString() ?? null,
    'expired-at': token.expiresAt?.toISOString() ?? null,
  }),
  relationships: (token) => ({ user: toOne('users', token.userId) }),
});

/** A user's two-factor authentication. The secret and the recovery codes are shown once, when the setup starts. */
export const twoFactorSerializer = serializerOf<TwoFactorState>()({
  type: 'two-factor',
  shape: {
    enabled: flag,
    verified: flag,
    'recovery-codes-left': whole,
    secret: credential.optional(),
    url: credential.optional(),
    'qr-code': credential.optional(),
    'recovery-codes': z.array(credential).optional(),
  },
  relations: { user: hasOne('users') },
  id: (state) => state.userId,
  self: () => '/api/v2/account/two-factor',
  attributes: ({ enabled, verified, recoveryCodesLeft, enrolment }) => ({
    enabled,
    verified,
    'recovery-codes-left': recoveryCodesLeft,
    ...(enrolment
      ? {
          secret: enrolment.secret,
          url: enrolment.url,
          'qr-code': enrolment.qrCode,
          'recovery-codes': enrolment.recoveryCodes,
        }
      : {}),
  }),
  relationships: ({ userId }) => ({ user: toOne('users', userId) }),
});

/** The purpose of a link, shown to the user who has it. */
export const linkSerializer = serializerOf<OpenedLink>()({
  type: 'one-time-links',
  shape: {
    kind: z.enum(['invitation', 'password-reset', 'address-change']),
    email: text,
    organization: text.nullable(),
    'needs-username': flag,
    'needs-password': flag,
    'expired-at': instant,
  },
  id: (link) => link.membershipId ?? link.userId,
  attributes: (link) => ({
    kind: link.kind,
    email: link.email,
    organization: link.organization,
    'needs-username': link.isNewAccount,
    'needs-password': link.kind !== 'invitation' || link.isNewAccount,
    'expired-at': link.expiresAt.toISOString(),
  }),
});
