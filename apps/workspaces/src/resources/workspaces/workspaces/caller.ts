import type { Keyring } from '@keystead/keyring';
import type { Reach } from '@keystead/outside';
import type { Access } from '../../../kernel/access/access';
import type { Actor } from '../../../kernel/audit/audit';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import type { Edition } from '../../../kernel/installation/edition';

/** Who changes something, and what their rules look at. */
export interface WorkspaceCaller {
  readonly actor: Actor;
  readonly access: Access;
  readonly edition: Edition;
  readonly settings: SiteSettings;
  /** What asking a Git host takes; without a reach none is asked. */
  readonly vcs: { readonly keyring: Keyring; readonly reach: Reach | undefined };
}
