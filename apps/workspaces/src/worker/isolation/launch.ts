/** What to spawn, with a clean environment, for a command to run confined. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
}
