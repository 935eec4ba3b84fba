import type { Identity } from '../kernel/identity/identity';
import { Pauses } from '../kernel/storage/in-turns';
import type { Kernel } from '../pipeline/kernel';
import { askedOf } from '../pipeline/place';
import { SentPath } from '../pipeline/sent-path';
import { pathProblem } from '../sdk/path-text';
import type { PreflightPort } from '../system/sys/internal-ui';

/** What user interfaces may learn about mounts and rules. */
export function preflightPort(kernel: () => Kernel, identity: Identity): PreflightPort {
  const holder = async (hash: string) => {
    const record = await kernel().tokens.findByHash(Buffer.from(hash, 'hex'));
    if (!record) return undefined;
    const view = record.entityId === undefined ? undefined : await identity.views.of(record.entityId);
    const query = { namespaceId: record.namespaceId, policies: record.policies, identity: view };
    return { access: await kernel().access.of(query) };
  };
  const askedUnder = (pattern: string) => {
    const { namespaces, mounts } = kernel();
    const sent = pathProblem(pattern) === undefined ? SentPath.read(pattern) : undefined;
    if (!(sent instanceof SentPath)) return undefined;
    return askedOf(sent.locate(namespaces, mounts, pattern.endsWith('/') ? 'list' : 'read', ''));
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
      const access = (await holder(hash))?.access;
      const exact: Record<string, readonly string[]> = {};
      const glob: Record<string, readonly string[]> = {};
      const pauses = new Pauses();
      for (const { pattern, capabilities } of access?.rules ?? []) {
        if (pauses.due) await pauses.take();
        const open = pattern.endsWith('*');
        if (open || pattern.split('/').includes('+')) glob[open ? pattern.slice(0, -1) : pattern] = capabilities;
        else {
          // What the rules say of the path that requests under this pattern have.
          const asked = askedUnder(pattern);
          exact[asked?.path ?? pattern] = asked ? access!.capabilities(asked.path, asked.folding) : capabilities;
        }
      }
      return { root: access?.root ?? false, exact, glob };
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
