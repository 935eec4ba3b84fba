import type { LiveMount } from '../../../kernel/mounts/mount';
import type { AccessList } from '../../../kernel/policy/types';
import { questionOf, SentPath } from '../../../kernel/routing/sent-path';
import { Pauses } from '../../../kernel/storage/slices';
import type { TokenRecord } from '../../../kernel/tokens/types';
import { pathProblem } from '../../../sdk/path-text';
import { type AuthorityParts, accessQueryOf } from '../policies/authority';

/** The kernel modules that preflight requests use. */
export type PreflightParts = Pick<AuthorityParts, 'namespaces' | 'mounts' | 'access' | 'tokens' | 'identity'>;

/** The access list of a token; undefined if the token no longer exists. `hash` is hex. */
export async function accessOf(parts: PreflightParts, hash: string): Promise<AccessList | undefined> {
  return accessOfRecord(parts, await parts.tokens.findByHash(Buffer.from(hash, 'hex')));
}

async function accessOfRecord(parts: PreflightParts, record: TokenRecord | undefined): Promise<AccessList | undefined> {
  return record && parts.access.of(await accessQueryOf(parts, record));
}

/** Whether the token with a hash has any capability at or below a mount. */
export async function reaches(parts: PreflightParts, hash: string, mount: LiveMount): Promise<boolean> {
  const access = await accessOf(parts, hash);
  if (!access) return false;
  const { namespaces, mounts } = parts;
  const header = namespaces.find(mount.namespaceId)?.path ?? '';
  const { full } = SentPath.ofField(mount.path, 'path').locate(namespaces, mounts, 'list', header);
  return access.grantsBelow(full) || access.capabilities(full)[0] !== 'deny';
}

/** The rules of a token, found by accessor or by hash, as user interfaces show them; undefined if there is no such token. */
export async function rulesOf(
  parts: PreflightParts,
  tokenRef: { hash: string } | { namespaceId: string; accessor: string },
) {
  const access =
    'hash' in tokenRef
      ? await accessOf(parts, tokenRef.hash)
      : await accessOfRecord(parts, await parts.tokens.findByAccessor(tokenRef.namespaceId, tokenRef.accessor));
  if (!access && 'accessor' in tokenRef) return undefined;
  const exact: Record<string, readonly string[]> = {};
  const glob: Record<string, readonly string[]> = {};
  const pauses = new Pauses();
  for (const { pattern, capabilities } of access?.rules ?? []) {
    if (pauses.due) await pauses.take();
    const open = pattern.endsWith('*');
    if (open || pattern.split('/').includes('+')) glob[open ? pattern.slice(0, -1) : pattern] = capabilities;
    else {
      // What the rules grant on the path that this pattern names.
      const target = targetOf(parts, pattern);
      exact[target?.path ?? pattern] = target ? access!.capabilities(target.path, target.folding) : capabilities;
    }
  }
  return { root: access?.root ?? false, exact, glob };
}

function targetOf({ namespaces, mounts }: PreflightParts, pattern: string) {
  const sent = pathProblem(pattern) === undefined ? SentPath.read(pattern) : undefined;
  if (!(sent instanceof SentPath)) return undefined;
  return questionOf(sent.locate(namespaces, mounts, pattern.endsWith('/') ? 'list' : 'read', ''));
}
