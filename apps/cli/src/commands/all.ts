import type { CommandSpec } from '../command';
import type { Groups } from '../parser';
import { auditCommands } from './audit';
import { backupCommands } from './backup';
import { completionCommand } from './completion';
import { dataCommands } from './data';
import { kvCommands } from './kv';
import { kvMetadataCommands } from './kv-metadata';
import { leaseCommands } from './leases';
import { loginCommands } from './login';
import { mfaCommands } from './mfa';
import { mountCommands } from './mounts';
import { namespaceCommands } from './namespaces';
import { operatorCommands } from './operator';
import { policyCommands } from './policy';
import { rekeyCommands } from './rekey';
import { systemCommands } from './system';
import { tokenCommands } from './token';
import { importCommands } from './workspaces';

/** What the groups of commands are for. */
export const groups: Groups = {
  audit: 'Look at the audit devices, and check the audit table.',
  auth: 'Login methods.',
  backup: 'Save a service to a file, check such a file, and bring it back.',
  kv: 'Key/value secrets.',
  'kv metadata': 'What is kept beside the versions of a secret.',
  lease: 'What engines gave out.',
  mfa: 'Second factors for logging in.',
  namespace: 'Installations within the installation.',
  operator: 'Keys, shares and nodes of the service.',
  policy: 'The rules that tokens carry.',
  print: 'What this program works with.',
  secrets: 'Secrets engines.',
  token: 'Make, look at, renew and end tokens.',
  workspaces: 'The workspace service.',
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
  ...tokenCommands,
  ...policyCommands,
  ...namespaceCommands,
  ...mfaCommands,
  ...rekeyCommands,
  ...operatorCommands,
  ...auditCommands,
  ...backupCommands,
  ...importCommands,
  completionCommand(() => commands, groups),
];
