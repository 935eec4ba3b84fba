import { credential, flag, hasOne, instant, serializer, text, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Token } from '../tokens/service';
import type { OpenedLink } from './links';
import type { TwoFactorState } from './two-factor';

const sessionAttributes = {
  token: credential.nullable(),
  'created-at': instant,
  'last-used-at': instant.nullable(),
  'expired-at': instant.nullable(),
};

const sessionRelations = { user: hasOne('users') };

/** A session; its token is shown once, by the answer to signing in. */
export const sessionSerializer = serializer<Token, View, typeof sessionAttributes, typeof sessionRelations>({
  type: 'sessions',
  shape: sessionAttributes,
  relations: sessionRelations,
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

const twoFactorAttributes = {
  enabled: flag,
  verified: flag,
  'recovery-codes-left': whole,
  secret: credential.optional(),
  url: credential.optional(),
  'qr-code': credential.optional(),
  'recovery-codes': z.array(credential).optional(),
};

const twoFactorRelations = { user: hasOne('users') };

/** A person's second factor; secret and recovery codes are shown once, when it is begun. */
export const twoFactorSerializer = serializer<
  TwoFactorState,
  View,
  typeof twoFactorAttributes,
  typeof twoFactorRelations
>({
  type: 'two-factor',
  shape: twoFactorAttributes,
  relations: twoFactorRelations,
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

const linkAttributes = {
  kind: z.enum(['invitation', 'password-reset']),
  email: text,
  organization: text.nullable(),
  'needs-username': flag,
  'needs-password': flag,
  'expired-at': instant,
};

/** An invitation or a password reset, to whoever holds its link. */
export const linkSerializer = serializer<OpenedLink, View, typeof linkAttributes>({
  type: 'one-time-links',
  shape: linkAttributes,
  id: (link) => link.membershipId ?? link.userId,
  attributes: (link) => ({
    kind: link.kind,
    email: link.email,
    organization: link.organization,
    'needs-username': link.isNewAccount,
    'needs-password': link.kind === 'password-reset' || link.isNewAccount,
    'expired-at': link.expiresAt.toISOString(),
  }),
});
