import type { PolicyNames } from '../policy/access';
import { CoherentCache } from '../storage/cache';
import { isId } from './checks';
import { type Entities, groupsOfEntity } from './entities';
import { type EntityRow, type GroupRow, toEntity, toGroup } from './rows';
import type { Entity, Group, IdentityNeeds, IdentityView } from './types';

interface Loaded {
  readonly view: IdentityView;
}

const findMerged = {
  name: 'entity-view',
  text: `SELECT e.* FROM entity e WHERE e.id = $1
         UNION ALL
         SELECT e.* FROM entity e JOIN entity_merge m ON m.entity_id = e.id WHERE m.merged_id = $1`,
};
const findGroups = {
  name: 'entity-view-groups',
  text: `SELECT g.* FROM (${groupsOfEntity}) AS mine JOIN "group" g ON g.id = mine.id ORDER BY g.id`,
};

/**
 * What requests need to know of entities, cached: policies of the entity and of every group it is in, directly or not.
 *
 * A view is a new object whenever anything in it changed, on this node or another, so it may key what is derived of it.
 */
export class IdentityViews {
  private readonly cache: CoherentCache<Loaded>;

  constructor(
    private readonly needs: IdentityNeeds,
    private readonly entities: Entities,
  ) {
    this.cache = new CoherentCache({ maxEntries: 50_000, fresh: () => needs.notices.fresh });
    needs.notices.listen('entity', (key) => (key === '*' ? this.cache.clear() : this.cache.forget(key)));
    needs.notices.listen('group', () => this.cache.clear());
  }

  /** The view if it is at hand: `null` for an entity known to be absent, `undefined` for nothing known. */
  peek(entityId: string): IdentityView | null | undefined {
    const loaded = this.cache.peek(entityId);
    return loaded ? loaded.view : loaded;
  }

  /** The view of an entity, or of the one it was merged into; undefined when it is gone. */
  async of(entityId: string): Promise<IdentityView | undefined> {
    if (!isId(entityId)) return undefined;
    return (await this.cache.get(entityId, () => this.load(entityId)))?.view;
  }

  private async load(entityId: string): Promise<Loaded | undefined> {
    const { database, barrier } = this.needs;
    const row = (await database.query<EntityRow>(findMerged, [entityId])).rows[0];
    if (!row) return undefined;
    const entity = toEntity(barrier, row);
    const [aliases, groups] = await Promise.all([
      this.entities.aliasesOf([entity.id]),
      database.query<GroupRow>(findGroups, [entity.id]),
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
            aliases: (aliases.get(entity.id) ?? []).map(({ mountAccessor, id, name, metadata, customMetadata }) => ({
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
