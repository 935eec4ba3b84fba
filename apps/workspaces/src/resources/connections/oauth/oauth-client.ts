import type { OauthClient as Row } from '../../../generated/prisma/client';

/** A connection to a version-control provider, without its secrets. */
export interface OauthClient extends Omit<Row, 'secret' | 'privateKey'> {
  readonly organizationName: string;
  readonly tokenIds: readonly string[];
  readonly projectIds: readonly string[];
  /** Why its host cannot be called, or the installations of an app could not be read. */
  readonly problem: string | null;
}

/** Where a host leads the browser back to. */
export const callbackUrl = (publicUrl: string, clientId: string): string => `${publicUrl}/auth/${clientId}/callback`;

/** Where GitHub delivers what happens in the repositories that an app is installed for. */
export const appWebhookUrl = (publicUrl: string, clientId: string): string =>
  `${publicUrl}/webhooks/github-app/${clientId}`;
