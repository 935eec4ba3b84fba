import type { OauthClient as Row } from '../../../generated/prisma/client';

/** A connection to a version-control provider, without its secrets. */
export interface OauthClient extends Omit<Row, 'secret' | 'privateKey'> {
  readonly organizationName: string;
  readonly tokenIds: readonly string[];
  readonly projectIds: readonly string[];
  /** Why the Git host cannot be called, or why the installations of an app could not be read. */
  readonly problem: string | null;
}

/** The address to which a host sends the browser back. */
export const callbackUrl = (publicUrl: string, clientId: string): string => `${publicUrl}/auth/${clientId}/callback`;

/** Where GitHub delivers events of the repositories that an app is installed for. */
export const appWebhookUrl = (publicUrl: string, clientId: string): string =>
  `${publicUrl}/webhooks/github-app/${clientId}`;
