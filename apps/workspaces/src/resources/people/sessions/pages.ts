import { notFound } from '@keystead/refusal';
import { type Answers, endpoints, type Raw } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';

const { raw } = endpoints({}, undefined, { organizationsOf: () => [] });

/** The answers of endpoints that redirect a browser to a page of the console. */
export const leads: Answers = { 302: { description: 'The page of the console.' } };

/** Redirects a browser to a page of the console. Throws `missing` if there is no console. */
export function leadTo({ hasConsole }: Environment, page: string): Raw {
  if (!hasConsole) throw notFound();
  return { status: 302, headers: { Location: `/ui/${page}` } };
}

/** The page to which clients without a login command send people for a token. */
export const tokenPageEndpoint = raw('GET')('/app/settings/tokens', {
  summary: 'Redirect to the page on which users create API tokens.',
  answers: leads,
  outside: true,
  auth: 'none',
  query: { source: 'The name of the client that links to this page.' },
  run: async ({ env }) => leadTo(env, 'account'),
});

/** The page on which a person opens an invitation or a password reset. */
export const linkPageEndpoint = raw('GET')('/app/one-time-links/:secret', {
  summary: 'Redirect to the page on which users accept an invitation or set a new password.',
  answers: leads,
  outside: true,
  auth: 'none',
  // The part after the `#` is not sent to any server, and appears in no log and no page history.
  run: async ({ env, params }) => leadTo(env, `one-time-link#${encodeURIComponent(params.secret)}`),
});
