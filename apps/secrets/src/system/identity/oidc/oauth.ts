import { z } from 'zod';
import type { RawReply } from '../../../sdk/reply';

/** An OAuth error response. */
export const OAuthError = z.object({
  error: z.string(),
  error_description: z.string(),
  state: z.string().optional(),
  iss: z.string().optional().describe('Issuer of the error response.'),
  redirect_uri: z.string().optional().describe('Redirect URI for the error response; must be one of the client’s.'),
});

/** Statuses of these errors, for the OpenAPI document. */
export const oauthStatuses = {
  400: 'The request is refused; `error` gives the reason.',
  401: 'The client or the access token is not known.',
  403: 'The person may not sign in there.',
};

const unproven = new Set(['invalid_client', 'invalid_token']);

/** A refusal of the token endpoint, with the common parts of all refusals. */
export function oauthError(error: string, description: string, more: object = {}): RawReply {
  return {
    kind: 'raw',
    status: unproven.has(error) ? 401 : 400,
    body: { error, error_description: description, ...more },
    headers: {
      Pragma: 'no-cache',
      ...(error === 'invalid_client' && { 'WWW-Authenticate': 'Basic realm="OIDC provider"' }),
    },
  };
}

/** A refusal of the userinfo endpoint. */
export function userinfoError(error: string, description: string): RawReply {
  const answer = oauthError(error, description);
  if (error === 'access_denied') return { ...answer, status: 403 };
  const challenge = `Bearer error="${error}",error_description="${description}"`;
  return { ...answer, headers: { ...answer.headers, 'WWW-Authenticate': challenge } };
}
