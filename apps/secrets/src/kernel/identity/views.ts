import type { PolicyNames } from '../policy/access';
import { CoherentCache } from '../storage/cache';
import { isId } from './checks';
import { type EntityAliasRow, type EntityRow, type GroupRow, toEntity, toEntityAlias, toGroup } from './rows';
import { VIEW_ALIASES, VIEW_ENTITY, VIEW_GROUPS, VIEW_MERGE } from './statements';
import type { Entity, Group, IdentityNeeds, IdentityView } from './types';

interface Loaded {
  readonly view: IdentityView;
}

/**
 * A cache of what requests need to know about entities: policies of the entity and of all its groups, direct or
 * inherited. A view is a new object whenever anything in it has changed, on any node, so it can be the key of derived
 * data.
 */
export class IdentityViews {
  private readonly cache: CoherentCache<Loaded>;
  /** Merged entities, and the one that each was merged into. */
  private readonly merges: CoherentCache<{ into: string }>;

  constructor(private readonly needs: IdentityNeeds) {
    this.cache = new CoherentCache({ maxEntries: 50_000, fresh: () => needs.notices.fresh });
    this.merges = new CoherentCache({ maxEntries: 10_000, fresh: () => needs.notices.fresh });
    needs.notices.listen('entity', (key) => {
      for (const cache of [this.cache, this.merges]) {
        if (key === '*') cache.clear();
        else cache.forget(key);
      }
    });
    needs.notices.listen('group', () => this.cache.clear());
  }

  /** The view of an entity, if it is cached. */
  peek(entityId: string): IdentityView | undefined {
    return this.cache.peek(entityId)?.view;
  }

  /** The view of an entity, or of the entity into which it was merged; undefined if it no longer exists. */
  async of(entityId: string): Promise<IdentityView | undefined> {
    if (!isId(entityId)) return undefined;
    const loaded = await this.cache.get(entityId, () => this.load(entityId));
    if (loaded) return loaded.view;
    const merged = await this.merges.get(entityId, () => this.loadMerge(entityId));
    return merged && this.of(merged.into);
  }

  private async loadMerge(entityId: string): Promise<{ into: string } | undefined> {
    const { rows } = await this.needs.database.query<{ entity_id: string }>(VIEW_MERGE, [entityId]);
    return rows[0] && { into: rows[0].entity_id };
  }

  private async load(entityId: string): Promise<Loaded | undefined> {
    const { database, barrier } = this.needs;
    const row = (await database.query<EntityRow>(VIEW_ENTITY, [entityId])).rows[0];
    if (!row) return undefined;
    const entity = toEntity(barrier, row);
    const [aliases, groups] = await Promise.all([
      database.query<EntityAliasRow>(VIEW_ALIASES, [entity.id]),
      database.query<GroupRow>(VIEW_GROUPS, [entity.id]),
    ]);
    const memberOf = groups.rows.map((group) => toGroup(barrier, group));
    const policies = collectPolicies(entity, memberOf);
    return {
      view: {
        entityId: entity.id,
        namespaceId: entity.namespaceId,
        name: entity.name,
        disabled: entity.disabled,
        policies,
        ownPolicies: policies.find(({ namespaceId }) => namespaceId === entity.namespaceId)?.names ?? [],
        groupIds: new Set(memberOf.map(({ id }) => id)),
        subject: {
          entity: {
            id: entity.id,
            name: entity.name,
            metadata: entity.metadata,
            aliases: aliases.rows
              .map((alias) => toEntityAlias(barrier, alias))
              .map(({ mountAccessor, id, name, metadata, customMetadata }) => ({
                mountAccessor,
                id,
                name,
                metadata: metadata ?? {},
                customMetadata: customMetadata ?? {},
              })),
          },
          groups: memberOf.map(({ id, name, metadata }) => ({ id, name, metadata })),
        },
      },
    };
  }
}

function collectPolicies(entity: Entity, groups: readonly Group[]): PolicyNames[] {
  const byNamespace = new Map<string, Set<string>>();
  for (const { namespaceId, policies } of [entity, ...groups]) {
    const names = byNamespace.get(namespaceId) ?? new Set();
    for (const name of policies) names.add(name);
    byNamespace.set(namespaceId, names);
  }
  return [...byNamespace]
    .map(([namespaceId, names]) => ({ namespaceId, names: [...names].sort() }))
    .filter(({ names }) => names.length > 0);
}
