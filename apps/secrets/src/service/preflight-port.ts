import type { PreflightPort } from '../backends/sys/internal-ui';
import type { Identity } from '../kernel/identity/identity';
import { capabilityNames } from '../kernel/policy/capability';
import type { PolicyStore } from '../kernel/policy/store';
import type { Kernel } from '../pipeline/kernel';
import { SentPath } from '../pipeline/sent-path';

/** What user interfaces may learn about mounts and rules. */
export function preflightPort(kernel: () => Kernel, identity: Identity, policies: PolicyStore): PreflightPort {
  const holder = async (hash: string) => {
    const record = await kernel().tokens.findByHash(Buffer.from(hash, 'hex'));
    if (!record) return undefined;
    const view = record.entityId === undefined ? undefined : await identity.views.of(record.entityId);
    const query = { namespaceId: record.namespaceId, policies: record.policies, identity: view };
    return { record, view, access: await kernel().access.of(query) };
  };
  return {
    list: (namespaceId, kind) => kernel().mounts.list(namespaceId, kind),
    resolve: (namespaceId, path) => kernel().mounts.resolve(namespaceId, path)?.mount,
    async reaches(hash, mount) {
      const found = await holder(hash);
      if (!found) return false;
      const { namespaces, mounts } = kernel();
      const header = namespaces.find(mount.namespaceId)?.path ?? '';
      const { full } = SentPath.ofField(mount.path, 'path').locate(namespaces, mounts, 'list', header);
      return found.access.grantsBelow(full) || found.access.capabilities(full)[0] !== 'deny';
    },
    async rules(hash) {
      const found = await holder(hash);
      const exact: Record<string, string[]> = {};
      const glob: Record<string, string[]> = {};
      if (!found || found.access.root) return { root: found?.access.root ?? false, exact, glob };
      const { record, view } = found;
      const groups = [{ namespaceId: record.namespaceId, names: record.policies }, ...(view?.policies ?? [])];
      for (const { namespaceId, names } of groups) {
        const prefix = kernel().namespaces.find(namespaceId)?.path ?? '';
        for (const name of names) {
          for (const rule of (await policies.find(namespaceId, name))?.policy.rules ?? []) {
            const open = rule.pattern.endsWith('*');
            const pattern = prefix + (open ? rule.pattern.slice(0, -1) : rule.pattern);
            const rules = open || rule.pattern.includes('+') ? glob : exact;
            rules[pattern] = [...new Set([...(rules[pattern] ?? []), ...capabilityNames(rule.capabilities)])].sort();
          }
        }
      }
      return { root: false, exact, glob };
    },
    childNamespaces(namespaceId) {
      const { namespaces } = kernel();
      const parent = namespaces.find(namespaceId)!;
      return namespaces
        .below(parent)
        .filter(({ parentUuid }) => parentUuid === namespaceId)
        .map(({ path }) => path.slice(parent.path.length));
    },
  };
}
