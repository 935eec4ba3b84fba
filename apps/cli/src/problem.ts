/** The exit codes of the program, which show who must act: the caller or the service. */
export const exitCodes = { usage: 1, file: 1, refused: 2, unreachable: 2, fault: 70, stopped: 130 } as const;

/** The exit codes as text for `--help`. */
export const exitCodesText =
  'Exit codes: 0 done · 1 local error: wrong usage, or a file · 2 remote error: the service or the database refused or\n' +
  'cannot be reached; for status: it is sealed · 70 a fault of this program (KEYSTEAD_TRACE=1 shows where) ·\n' +
  '130 stopped by Ctrl-C';

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
