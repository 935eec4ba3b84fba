import type { Barrier } from '../storage/types';
import type { Entity, EntityAlias, Group, GroupAlias, GroupType, Metadata } from './types';

/** The common columns of all four tables. Numbers are strings if they were not read by Prisma. */
interface IdentityRow {
  id: string;
  namespaceId: string;
  createdAtMs: bigint | string;
  updatedAtMs: bigint | string;
  sealed: Uint8Array;
}
/** A row of `entity`. */
export interface EntityRow extends IdentityRow {
  name: string;
  disabled: boolean;
}
/** A row of `entity_alias`. */
export interface EntityAliasRow extends IdentityRow {
  entityId: string;
  mountId: string;
  mountAccessor: string;
}
/** A row of `group`. */
export interface GroupRow extends IdentityRow {
  name: string;
  type: string;
  version: number;
}
/** A row of `group_alias`; without a mount, no login can match it. */
export interface GroupAliasRow extends IdentityRow {
  groupId: string;
  mountId: string | null;
  mountAccessor: string;
}

/** The secret part of an entity or a group. */
export interface SealedPrincipal {
  readonly metadata: Metadata;
  readonly policies: readonly string[];
}
/** The secret part of an entity alias. */
export interface SealedEntityAlias {
  readonly name: string;
  readonly metadata: Metadata | null;
  readonly customMetadata: Metadata | null;
  readonly groupNames?: readonly string[];
  readonly local: boolean;
  readonly mergedFromIds: readonly string[];
}
/** The secret part of a group alias. */
export interface SealedGroupAlias {
  readonly name: string;
}

/** The cell of a row's sealed column. */
export const cellOf = (table: 'entity' | 'entity_alias' | 'group' | 'group_alias', row: string) => ({
  table,
  row,
  column: 'sealed',
});

/** The cell of an entity's secret of an MFA method. */
export const mfaSecretCell = (methodId: string, entityId: string) => ({
  table: 'mfa_secret',
  row: `${methodId}/${entityId}`,
  column: 'sealed',
});

const times = (row: IdentityRow) => ({ createdAtMs: Number(row.createdAtMs), updatedAtMs: Number(row.updatedAtMs) });

type Opener = Pick<Barrier, 'openJson'>;

/** Opens a row of `entity`. */
export function toEntity(barrier: Opener, row: EntityRow): Entity {
  const { metadata, policies } = barrier.openJson<SealedPrincipal>(row.sealed, cellOf('entity', row.id));
  const { id, namespaceId, name, disabled } = row;
  return { id, namespaceId, name, disabled, metadata, policies, ...times(row) };
}

/** Opens a row of `entity_alias`. */
export function toEntityAlias(barrier: Opener, row: EntityAliasRow): EntityAlias {
  const secret = barrier.openJson<SealedEntityAlias>(row.sealed, cellOf('entity_alias', row.id));
  return {
    id: row.id,
    namespaceId: row.namespaceId,
    entityId: row.entityId,
    mountId: row.mountId,
    mountAccessor: row.mountAccessor,
    ...secret,
    ...times(row),
  };
}

/** Opens a row of `group`. */
export function toGroup(barrier: Opener, row: GroupRow): Group {
  const { metadata, policies } = barrier.openJson<SealedPrincipal>(row.sealed, cellOf('group', row.id));
  const { id, namespaceId, name, version } = row;
  return { id, namespaceId, name, type: row.type as GroupType, version, metadata, policies, ...times(row) };
}

/** Opens a row of `group_alias`. */
export function toGroupAlias(barrier: Opener, row: GroupAliasRow): GroupAlias {
  const { name } = barrier.openJson<SealedGroupAlias>(row.sealed, cellOf('group_alias', row.id));
  return {
    id: row.id,
    namespaceId: row.namespaceId,
    groupId: row.groupId,
    mountId: row.mountId ?? undefined,
    mountAccessor: row.mountAccessor,
    name,
    ...times(row),
  };
}

/**
 * The lookup hash of an alias: a keyed hash of its name in lower case, so that the database does not reveal who logs
 * in.
 */
export function aliasNameHash(
  barrier: Pick<Barrier, 'mac'>,
  kind: 'entity' | 'group',
  mountId: string,
  name: string,
): Buffer<ArrayBuffer> {
  return barrier.mac(`identity-${kind}-alias`, `${mountId}\u0000${name.toLowerCase()}`);
}
