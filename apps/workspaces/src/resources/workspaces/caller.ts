import type { Access } from '../../kernel/access';
import type { Actor } from '../../kernel/audit';
import type { Edition } from '../../kernel/edition';
import type { SiteSettings } from '../../kernel/environment';

/** Who changes something, and what their rules look at. */
export interface Caller {
  readonly actor: Actor;
  readonly access: Access;
  readonly edition: Edition;
  readonly settings: SiteSettings;
}
