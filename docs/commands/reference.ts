import { elsewhere } from '../../apps/cli/src/commands/all';

/** The commands of OpenBao 2.7.2, by the words to type. */
export const referenceCommands: readonly string[] =
  `agent, agent generate-config, audit disable, audit enable, audit list,
auth disable, auth enable, auth help, auth list, auth move, auth tune, debug, delete, kv delete, kv destroy,
kv enable-versioning, kv get, kv list, kv metadata delete, kv metadata get, kv metadata patch, kv metadata put, kv patch, kv put,
kv rollback, kv scan, kv undelete, lease lookup, lease renew, lease revoke, list, login, monitor, namespace create,
namespace delete, namespace delete-sealed, namespace list, namespace lock, namespace lookup, namespace patch, namespace scan,
namespace seal, namespace seal-status, namespace unlock, namespace unseal, operator diagnose, operator generate-root,
operator init, operator key-status, operator members, operator migrate, operator raft, operator rekey, operator rotate,
operator rotate-keys, operator seal, operator step-down, operator unseal, operator validate-config, patch, path-help, pki,
plugin, policy delete, policy fmt, policy list, policy read, policy write, print token, proxy, read, scan, secrets disable,
secrets enable, secrets list, secrets move, secrets tune, server, ssh, status, token capabilities, token create, token lookup,
token renew, token revoke, transit, unwrap, version, version-history, write`
    .split(',')
    .map((name) => name.trim());

/** Commands that we have and that differ noticeably. */
export const different: Readonly<Record<string, string>> = {
  'audit enable': 'files in one directory, where the service is set to allow it; refused elsewhere',
  'audit disable': 'refused by the service for devices of its configuration',
  login: 'token, password, secret id and signed token are asked for or come from a file, never from an argument',
  'operator generate-root':
    'one command walks through all of it; shares are asked for; `-init`, `-nonce` and `-decode` as there',
  'operator init': 'shares are recovery shares where the service unseals itself',
  'operator rekey': 'one command walks through it; `status`, `check` and `cancel` are commands below it',
  'operator rotate': 'shows the new key',
  'operator unseal': 'asks for shares until it is unsealed; `-once` gives one',
  'path-help': 'text of the path declared, not of its engine',
  'token capabilities': 'several paths at once; another token by `-accessor`',
  'token lookup': 'another token by `-accessor`, or `-` to be prompted',
  'token renew': 'another token by `-accessor`, or `-` to be prompted',
  'token revoke': 'another token by `-accessor`, or `-` to be prompted; `-mode=orphan`, no `-mode=path`',
  unwrap: 'also `-`, to be prompted for the token',
  ssh: 'certificates only (`-mode=ca`), with a key that is made for the connection; options of `ssh` as `-option`',
};

/** Commands that we do not have, with the reason or the alternative. */
export const absent: Readonly<Record<string, string>> = {
  ...elsewhere,
  'agent generate-config': 'as above',
  'auth help': '`path-help auth/PATH/login`',
  'namespace delete-sealed': 'namespaces have no separate seal',
  'namespace lock': 'not built',
  'namespace scan': '`namespace list` with `-namespace`',
  'namespace seal': 'namespaces have no separate seal',
  'namespace seal-status': 'as above',
  'namespace unlock': 'not built',
  'namespace unseal': 'namespaces have no separate seal',
  'operator diagnose': 'the service reports every invalid setting when it starts',
  'operator migrate': '`backup create` and `backup restore`',
  'operator raft': 'the database stores everything; nodes have no storage',
  'operator rotate-keys': '`operator rekey`',
  'operator step-down': 'all nodes are active, and there is no leader',
  'operator validate-config': 'the service reports every invalid setting when it starts',
  pki: 'read `pki/issuers`; `pki issue`, `sign`, `revoke` and `list` are separate commands',
  plugin: 'engines are built in',
  transit: 'import keys with `write`; `transit encrypt`, `decrypt`, `sign` and `verify` are separate commands',
  'version-history': '`list sys/version-history`',
};
