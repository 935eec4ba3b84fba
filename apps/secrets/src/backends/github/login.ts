import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { secretString } from '../../sdk/fields';
import { keepSecret, secretKeptFor } from '../../sdk/kept-secret';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { type GithubConfig, requireConfig } from './config';
import { policiesOf } from './map';
import type { Organizations } from './organizations';

/** Login with a token of GitHub. Decision 0115. */
export const loginPath = (organizations: Organizations) =>
  path('login', {
    summary: 'Log in with a GitHub token.',
    auth: 'none',
    write: {
      summary: 'Look up the user of the token at GitHub, and issue a token to members of the organization.',
      input: z.object({
        token: secretString()
          .optional()
          .describe('The user’s personal access token for GitHub, with the scope read:org.'),
      }),
      judges: 'unguessable',
      async run({ input, storage, caller, mount }) {
        const config = await requireConfig(storage);
        const token = input.token?.trim();
        if (!token) throw new Refusal('invalid', 'missing token');
        // The token is sent in a header.
        if (!/^[\x21-\x7e]{1,512}$/.test(token) || !withinCidrs(caller.address, config.token_bound_cidrs)) {
          throw new Refusal('denied', 'permission denied');
        }
        const member = await organizations.memberBy(config, token);
        const policies = await policiesOf(storage, member);
        const { username, teams } = member;
        return login({
          ...tokenOf(config, policies),
          alias: { name: username, metadata: {} },
          groupAliases: teams,
          displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${username}`,
          metadata: { username, org: config.organization },
          internal: { token: keepSecret(token, [config.base_url]), username, policies },
        });
      },
    },
  });

/**
 * Computes the login again by calling GitHub with the same token. Throws if the token is no longer valid, or its user
 * has left the organization, was renamed or has other policies. Throws `upstream` if GitHub is unavailable.
 */
export const renewLogin =
  (organizations: Organizations) =>
  async ({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> => {
    const config = await requireConfig(storage);
    const member = await organizations.memberBy(config, secretKeptFor(internal.token, [config.base_url]));
    if (member.username !== internal.username) throw new Refusal('invalid', 'the token now belongs to another user');
    const policies = await policiesOf(storage, member);
    if (JSON.stringify(policies) !== JSON.stringify(internal.policies)) {
      throw new Refusal('invalid', 'policies do not match');
    }
    return { ...tokenOf(config, policies), groupAliases: member.teams };
  };

const tokenOf = (config: GithubConfig, policies: readonly string[]) => ({
  ...loginParams(config),
  policies: [...new Set([...config.token_policies, ...policies])],
});
