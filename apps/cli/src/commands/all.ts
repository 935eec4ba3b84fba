import type { CommandSpec } from '../command';
import type { Groups, Vocabulary } from '../parser';
import { addressCommands } from './addresses';
import { auditCommands } from './audit';
import { backupCommands } from './backup';
import { completionCommand } from './completion';
import { dataCommands } from './data';
import { doctorCommands } from './doctor';
import { vaultImportCommands } from './import-vault';
import { kvCommands } from './kv';
import { kvMetadataCommands } from './kv-metadata';
import { leaseCommands } from './leases';
import { loginCommands } from './login';
import { mfaCommands } from './mfa';
import { mountCommands } from './mounts';
import { namespaceCommands } from './namespaces';
import { operatorCommands } from './operator';
import { organizationCommands } from './organizations';
import { pkiCommands } from './pki';
import { policyCommands } from './policy';
import { registryCommands } from './registry';
import { rekeyCommands } from './rekey';
import { runCommands } from './runs';
import { sshCommands } from './ssh';
import { stateCommands } from './states';
import { systemCommands } from './system';
import { tokenCommands } from './token';
import { transitCommands } from './transit';
import { variableCommands } from './variables';
import { workspaceCommands } from './workspace';
import { importCommands } from './workspaces';

/** Descriptions of the groups of commands. */
export const groups: Groups = {
  address: 'Addresses that an organization may be used from.',
  audit: 'List and enable audit devices, and check the audit table.',
  auth: 'Login methods.',
  backup: 'Back up a service to a file, verify backups, and restore them.',
  import: 'Migrate from another server.',
  kv: 'Key/value secrets.',
  'kv metadata': 'Settings and custom metadata of a secret.',
  lease: 'Credentials issued by engines.',
  mfa: 'Second factors for logging in.',
  namespace: 'Isolated areas, each with its own engines, methods, tokens and policies.',
  operator: 'Keys, shares and nodes of the service.',
  org: 'Organizations of the workspace service.',
  pki: 'Certificates from a CA in the service.',
  policy: 'Rules about what tokens may do.',
  print: 'Print the token that commands use.',
  registry: 'Modules and providers of an organization.',
  run: 'Plans and applies.',
  secrets: 'Secrets engines.',
  state: "The versions of a workspace's state.",
  token: 'Create, look up, renew and revoke tokens.',
  transit: 'Encrypt and sign with keys that stay in the service.',
  var: 'Variables of a workspace.',
  workspaces: 'The workspace service as a whole.',
  ws: 'Workspaces.',
};

/** The commands of `keystead --help`, by purpose. */
export const sections: Readonly<Record<string, readonly string[]>> = {
  'First steps': ['status', 'login', 'logout', 'doctor', 'version', 'completion', 'help'],
  Secrets: ['kv', 'secrets', 'transit', 'pki', 'ssh', 'lease'],
  'Any path of the API': ['read', 'list', 'scan', 'write', 'patch', 'delete', 'unwrap', 'path-help'],
  Access: ['auth', 'token', 'policy', 'mfa', 'namespace', 'print'],
  Operation: ['init', 'unseal', 'seal', 'rekey', 'operator', 'audit', 'backup', 'import'],
  Workspaces: ['org', 'ws', 'run', 'state', 'var', 'registry', 'address', 'workspaces'],
};

/** Commands of other programs, and their equivalents here. */
export const elsewhere: Readonly<Record<string, string>> = {
  agent: 'worker-main.js agent executes runs (docs/guides/agents.md); there is no agent for secrets',
  debug: 'keystead doctor, /metrics and the log',
  monitor: 'the log of the service, or sys/monitor with curl',
  proxy: 'clients call the service directly',
  server: 'npm start, or docs/deploy.md',
};

/** Every command of the program. */
export const commands: readonly CommandSpec[] = [
  ...loginCommands,
  ...systemCommands,
  ...dataCommands,
  ...kvCommands,
  ...kvMetadataCommands,
  ...mountCommands,
  ...leaseCommands,
  ...sshCommands,
  ...transitCommands,
  ...pkiCommands,
  ...tokenCommands,
  ...policyCommands,
  ...namespaceCommands,
  ...mfaCommands,
  ...rekeyCommands,
  ...operatorCommands,
  ...auditCommands,
  ...backupCommands,
  ...doctorCommands,
  ...organizationCommands,
  ...workspaceCommands,
  ...runCommands,
  ...stateCommands,
  ...variableCommands,
  ...registryCommands,
  ...addressCommands,
  ...importCommands,
  ...vaultImportCommands,
  completionCommand(() => commands, groups),
];

/** All that the parser understands. */
export const vocabulary: Vocabulary = { commands, groups, sections, elsewhere };
