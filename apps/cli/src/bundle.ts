/** What the program carries along where it is a single file. */
interface Bundle {
  readonly version: string;
  /** By service and name, the text of every migration. */
  readonly migrations: Readonly<Record<'secrets' | 'workspaces', Readonly<Record<string, string>>>>;
}

declare const KEYSTEAD_BUNDLE: Bundle | undefined;

/** What was put into the single file; nothing if the program runs from its folder. */
export const bundle: Bundle | undefined = typeof KEYSTEAD_BUNDLE === 'undefined' ? undefined : KEYSTEAD_BUNDLE;
