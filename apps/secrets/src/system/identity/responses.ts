import { Refusal } from '@keystead/refusal';
import type { AliasMount } from '../../kernel/identity/entity-aliases';
import type { EntityAlias, EntityDetails, GroupAlias, GroupDetails, Metadata } from '../../kernel/identity/types';
import type { Mounts } from '../../kernel/mounts/mounts';

/** A time as shown to clients. */
const time = (atMs: number): string => new Date(atMs).toISOString();

const orNull = (pairs: Metadata | null): Metadata | null => (pairs && Object.keys(pairs).length > 0 ? pairs : null);
const listOrNull = (list: readonly string[]): readonly string[] | null => (list.length > 0 ? list : null);

/** The path and type of a mount, for aliases; empty if the mount no longer exists. */
export function mountFields(mounts: Mounts, accessor: string): { mount_path: string; mount_type: string } {
  const mount = accessor === '' ? undefined : mounts.findByAccessor(accessor);
  return { mount_path: mount?.path ?? '', mount_type: mount?.type ?? '' };
}

/**
 * The mount of an accessor in a request; undefined if none is named. Throws `malformed` if it is not in the namespace.
 */
export function mountOf(mounts: Mounts, namespaceId: string, accessor: string | undefined): AliasMount | undefined {
  if (!accessor) return undefined;
  const mount = mounts.findByAccessor(accessor);
  if (mount?.namespaceId === namespaceId) return mount;
  const issues = [{ path: ['mount_accessor'], message: 'unknown' }];
  throw new Refusal('malformed', `invalid mount accessor ${JSON.stringify(accessor)}`, issues);
}

/** An entity alias as shown to clients. */
export function shownEntityAlias(mounts: Mounts, alias: EntityAlias): Record<string, unknown> {
  return {
    canonical_id: alias.entityId,
    creation_time: time(alias.createdAtMs),
    custom_metadata: orNull(alias.customMetadata),
    id: alias.id,
    last_update_time: time(alias.updatedAtMs),
    local: alias.local,
    merged_from_canonical_ids: listOrNull(alias.mergedFromIds),
    metadata: orNull(alias.metadata),
    mount_accessor: alias.mountAccessor,
    ...mountFields(mounts, alias.mountAccessor),
    name: alias.name,
  };
}

/** An entity as shown to clients; `namespaceId` is the short id. */
export function shownEntity(mounts: Mounts, namespaceId: string, entity: EntityDetails): Record<string, unknown> {
  const { directGroupIds, inheritedGroupIds } = entity;
  const secrets = entity.mfaSecrets.map(({ methodId, methodType, methodName }) => [
    methodId,
    { method_name: methodName, type: methodType },
  ]);
  return {
    aliases: entity.aliases.map((alias) => shownEntityAlias(mounts, alias)),
    creation_time: time(entity.createdAtMs),
    direct_group_ids: directGroupIds,
    disabled: entity.disabled,
    group_ids: [...directGroupIds, ...inheritedGroupIds].sort(),
    id: entity.id,
    inherited_group_ids: inheritedGroupIds,
    last_update_time: time(entity.updatedAtMs),
    merged_entity_ids: listOrNull(entity.mergedEntityIds),
    metadata: orNull(entity.metadata),
    ...(secrets.length > 0 && { mfa_secrets: Object.fromEntries(secrets) }),
    name: entity.name,
    namespace_id: namespaceId,
    policies: entity.policies,
  };
}

/** Spec: Group alias. */
export function shownGroupAlias(mounts: Mounts, alias: GroupAlias): Record<string, unknown> {
  return {
    canonical_id: alias.groupId,
    creation_time: time(alias.createdAtMs),
    custom_metadata: null,
    id: alias.id,
    last_update_time: time(alias.updatedAtMs),
    local: false,
    merged_from_canonical_ids: null,
    metadata: null,
    mount_accessor: alias.mountAccessor,
    ...mountFields(mounts, alias.mountAccessor),
    name: alias.name,
  };
}

/** A group as shown to clients; `namespaceId` is the short id. */
export function shownGroup(mounts: Mounts, namespaceId: string, group: GroupDetails): Record<string, unknown> {
  return {
    alias: group.alias ? shownGroupAlias(mounts, group.alias) : {},
    creation_time: time(group.createdAtMs),
    id: group.id,
    last_update_time: time(group.updatedAtMs),
    // Only the auth method knows the members of an external group.
    member_entity_ids: group.type === 'external' ? listOrNull(group.memberEntityIds) : group.memberEntityIds,
    member_group_ids: listOrNull(group.memberGroupIds),
    metadata: orNull(group.metadata),
    modify_index: group.version,
    name: group.name,
    namespace_id: namespaceId,
    parent_group_ids: listOrNull(group.parentGroupIds),
    policies: group.policies,
    type: group.type,
  };
}
