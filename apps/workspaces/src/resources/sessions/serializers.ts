import { serializer, toOne } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import type { Token } from '../tokens/service';
import type { OpenedLink } from './links';
import type { TwoFactorState } from './two-factor';

/** A session; its token is shown once, by the answer to signing in. */
export const sessionSerializer = serializer<Token, View>({
  type: 'sessions',
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

/** A person's second factor; secret and recovery codes are shown once, when it is begun. */
export const twoFactorSerializer = serializer<TwoFactorState, View>({
  type: 'two-factor',
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

/** An invitation or a password reset, to whoever holds its link. */
export const linkSerializer = serializer<OpenedLink, View>({
  type: 'one-time-links',
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
