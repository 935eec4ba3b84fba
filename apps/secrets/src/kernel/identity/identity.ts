import { Refusal } from '@keystead/refusal';
import type { Soon } from '../../sdk/soon';
import type { Tx } from '../storage/types';
import { Entities } from './entities';
import { type AliasMount, EntityAliases } from './entity-aliases';
import { GroupAliases } from './group-aliases';
import { Groups } from './groups';
import { Logins } from './logins';
import { type Merge, mergeEntities } from './merge';
import type { IdentityNeeds, IdentityView, Metadata } from './types';
import { IdentityViews } from './views';

/** Everything that the service knows about the identity of its callers. */
export class Identity {
  readonly entities: Entities;
  readonly entityAliases: EntityAliases;
  readonly groups: Groups;
  readonly groupAliases: GroupAliases;
  readonly logins: Logins;
  readonly views: IdentityViews;

  constructor(private readonly needs: IdentityNeeds) {
    this.entities = new Entities(needs);
    this.entityAliases = new EntityAliases(needs, this.entities);
    this.groups = new Groups(needs);
    this.groupAliases = new GroupAliases(needs, this.groups);
    this.logins = new Logins(needs, this.entities, this.entityAliases);
    this.views = new IdentityViews(needs);
  }

  /** The view of an entity, or of the entity into which it was merged; undefined if it no longer exists. */
  find(entityId: string): Soon<IdentityView | undefined> {
    return this.views.peek(entityId) ?? this.views.of(entityId);
  }

  /**
   * The entity of a login, found by its alias or created. The entity joins the mount's external groups with these
   * names. Throws `denied` for a disabled entity.
   */
  async login(
    namespaceId: string,
    mount: AliasMount,
    alias: { readonly name: string; readonly metadata?: Metadata },
    groupAliases: readonly string[],
  ): Promise<{ readonly entityId: string; readonly aliasId: string }> {
    const { name: aliasName, metadata = {} } = alias;
    const found = await this.logins.aliasOf({ namespaceId, mount, aliasName, metadata, groupAliases });
    const view = await this.views.of(found.entityId);
    if (!view || view.disabled) throw new Refusal('denied', 'permission denied');
    return { entityId: view.entityId, aliasId: found.id };
  }

  /** Updates the external groups of a renewed token's entity to the groups that its auth method named. */
  async rejoinRenewed({
    record,
    groupAliases,
  }: {
    readonly record: { readonly entityId?: string; readonly aliasId?: string; readonly mountId?: string };
    readonly groupAliases?: readonly string[];
  }): Promise<void> {
    const { entityId, aliasId, mountId } = record;
    if (entityId === undefined || mountId === undefined) return;
    const entity = await this.find(entityId);
    if (entity) await this.logins.rejoin(entity.entityId, { entityId, aliasId, mountId }, groupAliases);
  }

  /** Removes the groups and entities of a namespace. The caller sends the notices. */
  async clear({ prisma }: Tx, namespaceId: string): Promise<void> {
    await prisma.groupAlias.deleteMany({ where: { namespaceId } });
    await prisma.group.deleteMany({ where: { namespaceId } });
    await prisma.entity.deleteMany({ where: { namespaceId } });
  }

  /** Merges entities into one; see `mergeEntities`. */
  merge(namespaceId: string, merge: Merge): Promise<void> {
    return mergeEntities(
      { needs: this.needs, entities: this.entities, aliases: this.entityAliases },
      namespaceId,
      merge,
    );
  }
}
