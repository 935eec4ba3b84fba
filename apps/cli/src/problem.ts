/** What the exit code of the program says. */
export const exitCodes = { usage: 1, refused: 2, unreachable: 3, file: 4, fault: 70 } as const;

/** The same for `--help`. */
export const exitCodesText =
  'Exit codes: 0 done · 1 wrong use · 2 the service said no (status: it is sealed) · 3 the service or the database cannot\n' +
  'be reached · 4 a file is damaged, or cannot be read or written · 70 a fault of this program (KEYSTEAD_TRACE=1 shows where)';

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
