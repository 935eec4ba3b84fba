/** Files that are embedded if the program is a single file. */
interface Bundle {
  readonly version: string;
  /** By service and name, the text of every migration. */
  readonly migrations: Readonly<Record<'secrets' | 'workspaces', Readonly<Record<string, string>>>>;
}

declare const KEYSTEAD_BUNDLE: Bundle | undefined;

/** The embedded files; undefined if the program runs from its folder. */
export const bundle: Bundle | undefined = typeof KEYSTEAD_BUNDLE === 'undefined' ? undefined : KEYSTEAD_BUNDLE;
