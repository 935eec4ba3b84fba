import { Entities } from './entities';
import { EntityAliases } from './entity-aliases';
import { GroupAliases } from './group-aliases';
import { Groups } from './groups';
import { Logins } from './logins';
import { type Merge, mergeEntities } from './merge';
import type { IdentityNeeds } from './types';
import { IdentityViews } from './views';

/** Everything the service knows about who its callers are. */
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
    this.views = new IdentityViews(needs, this.entities);
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
