import type { OauthClient as Row } from '../../../generated/prisma/client';

/** A connection to a version-control provider, without its secrets. */
export interface OauthClient extends Omit<Row, 'secret' | 'privateKey'> {
  readonly organizationName: string;
  readonly tokenIds: readonly string[];
  readonly projectIds: readonly string[];
}
