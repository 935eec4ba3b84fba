import type { OauthClient as Row } from '../../../generated/prisma/client';

/** A connection to a version-control provider, without its secrets. */
export interface OauthClient extends Omit<Row, 'secret' | 'privateKey'> {
  readonly organizationName: string;
  readonly tokenIds: readonly string[];
  readonly projectIds: readonly string[];
}

/** Where a host leads the browser back to. */
export const callbackUrl = (publicUrl: string, clientId: string): string => `${publicUrl}/auth/${clientId}/callback`;
