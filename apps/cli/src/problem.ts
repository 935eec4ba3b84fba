/** What the exit code of the program says. */
export const exitCodes = { usage: 1, refused: 2, unreachable: 3 } as const;

/** Something the user can act on: printed as one line, without a stack. */
export class Problem extends Error {
  override readonly name = 'Problem';
  constructor(
    message: string,
    readonly exitCode: number = exitCodes.usage,
  ) {
    super(message);
  }
}
