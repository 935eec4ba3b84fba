import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { secretString } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { type DirectoryConfig, findConfig, type LdapConfig } from './config';
import { canLookUp, type Directory, type Person } from './directory';
import { foldedName } from './filter';
import { users } from './names';

/** Login with name and password of a directory. Decision 0116. */
export const loginPath = (directory: Directory) =>
  path('login/:username', {
    folds: { username: 'case' },
    params: { username: 'segment' },
    summary: 'Logs in a user of the directory.',
    auth: 'none',
    write: {
      summary: 'Log in with the user’s password in the directory.',
      input: z.object({ password: secretString().optional().describe('The password.') }),
      judges: 'password',
      async run(call) {
        const { params, written: spelling, input, storage, caller, mount, warn } = call;
        const config = await findConfig(storage);
        if (!config) throw new Refusal('invalid', 'auth method not configured');
        if (!withinCidrs(caller.address, config.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        const username = (config.case_sensitive_names ? (spelling?.shown ?? params.username) : params.username).trim();
        const { password = '' } = input;
        // A directory treats an empty password as an anonymous bind, and accepts it.
        if (password === '' && config.deny_null_bind) {
          throw new Refusal('invalid', 'password cannot be of zero length when passwordless binds are being denied');
        }
        if (username === '') throw failed();
        const person = await call.guess(foldedName(params.username), () => directory.logIn(config, username, password));
        if (!person) throw failed();
        if (person.groups.length === 0 && config.groupdn !== '') {
          warn(
            `no LDAP groups found in groupDN ${JSON.stringify(config.groupdn)}; only policies from local groups apply`,
          );
        }
        const { groups, policies } = await rightsOf(storage, config, username, person);
        return login({
          ...tokenOf(config, policies),
          alias: { name: person.alias, metadata: { name: username } },
          groupAliases: groups,
          displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${username}`,
          metadata: { username },
          internal: { username, policies, groups: person.groups },
        });
      },
    },
  });

/**
 * Renews a login under the current configuration. If the directory can be searched, it is searched again: users who no
 * longer exist are refused, and groups are updated. Throws if the policies have changed, and `upstream` if the
 * directory is unavailable.
 */
export const renewLogin =
  (directory: Directory) =>
  async ({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> => {
    const config = await findConfig(storage);
    if (!config) throw new Refusal('invalid', 'auth method not configured');
    const username = String(internal.username);
    const stored = internal as { policies?: string[]; groups?: string[] };
    const before = [...(stored.policies ?? [])].sort();
    const canSearch = canLookUp(config);
    // Logins of an earlier version have no groups.
    if (!canSearch && !stored.groups) return tokenOf(config, before);
    const person = canSearch ? await directory.lookUp(config, username) : { groups: stored.groups! };
    if (!person) throw new Refusal('invalid', 'this user no longer exists in the directory');
    const { groups, policies } = await rightsOf(storage, config, username, person);
    if (JSON.stringify(before) !== JSON.stringify([...policies].sort())) {
      throw new Refusal('invalid', 'policies have changed, not renewing');
    }
    return { ...tokenOf(config, policies), groupAliases: groups };
  };

const tokenOf = ({ generation, ...config }: DirectoryConfig, policies: readonly string[]) => ({
  ...loginParams(config),
  policies: [...new Set([...config.token_policies, ...policies])],
});

/** Groups from the directory and from the user's entry here, with the policies of both. */
async function rightsOf(
  storage: Storage,
  config: LdapConfig,
  username: string,
  { groups: there }: Pick<Person, 'groups'>,
) {
  const exact = config.case_sensitive_names;
  const fits = (name: string, found: { name: string } | undefined) => found && (!exact || found.name === name);
  const user = await users.find(storage, username.toLowerCase());
  const entry = fits(username, user) ? user : undefined;
  const groups = [...new Set([...(entry?.groups ?? []), ...there].map((name) => (exact ? name : name.toLowerCase())))];
  const texts = await storage.getMany(groups.map((name) => `group/${name.toLowerCase()}`));
  const groupPolicies = groups.flatMap((name) => {
    const text = texts.get(`group/${name.toLowerCase()}`);
    const group = text === undefined ? undefined : (JSON.parse(text) as { name: string; policies: string[] });
    return fits(name, group) ? group!.policies : [];
  });
  return { groups, policies: [...new Set([...groupPolicies, ...(entry?.policies ?? [])])] };
}

/** The same error for an unknown name and a wrong password. */
const failed = (): Refusal => new Refusal('invalid', 'ldap operation failed: failed to bind as user');
