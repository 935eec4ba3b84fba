import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import { sshKeyPolicy } from './policy';
import { CreateSshKey, UpdateSshKey } from './schema';
import { sshKeySerializer } from './serializer';
import * as sshKeys from './service';

const { get, list, post, patch, remove } = endpoints(sshKeyPolicy, sshKeySerializer, {
  visible: sshKeyPolicy['can-read'],
});

const inPath = '/organizations/:organization_name/ssh-keys';
const byId = '/ssh-keys/:ssh_key_id';
const loadOrganization = ({ db, env, params }: Lookup<typeof inPath>) =>
  organizations.findByName(db, env, params.organization_name);
const load = ({ db, params }: Lookup<typeof byId>) => sshKeys.find(db, params.ssh_key_id);
const common = { spec: 'SSH keys', tokens: ['user', 'team'] } as const;

const listed = list(inPath, {
  ...common,
  summary: 'List the names and fingerprints of the SSH keys of an organization.',
  paging: 'optional',
  requires: 'can-read',
  load: loadOrganization,
  run: ({ db, target, page }) => sshKeys.list(db, target.organizationId, page),
});

const create = post(inPath, {
  ...common,
  summary: 'Store a private SSH key.',
  requires: 'can-update',
  body: CreateSshKey,
  load: loadOrganization,
  run: ({ db, env, target, body, ...call }) => sshKeys.create(db, env, actorOf(call), target.organizationId, body),
});

const show = get(byId, {
  ...common,
  summary: 'Show the name and fingerprint of an SSH key.',
  requires: 'can-read',
  load,
  run: async ({ target }) => target,
});

const update = patch(byId, {
  ...common,
  summary: 'Rename or replace an SSH key.',
  requires: 'can-update',
  body: UpdateSshKey,
  load,
  run: ({ db, env, target, body, ifMatch, ...call }) =>
    sshKeys.update(db, env, actorOf(call), target.id, body, ifMatch),
});

const destroy = remove(byId, {
  ...common,
  summary: 'Delete an SSH key. Workspaces that used it no longer have one.',
  requires: 'can-update',
  load,
  run: ({ db, target, ...call }) => sshKeys.remove(db, actorOf(call), target),
});

/** Private keys for cloning modules and repositories. */
export const sshKeyResource: Resource = {
  name: 'ssh-keys',
  endpoints: [listed, create, show, update, destroy],
  includable: {
    'ssh-keys': includable<sshKeys.SshKey>({
      serializer: sshKeySerializer,
      load: sshKeys.findMany,
      visible: sshKeyPolicy['can-read'],
      organizationsOf: (key) => [key.organizationId],
    }),
  },
};
