/**
 * The kind of secret that an operation checks. A password and a one-time code can be guessed: the first is checked only
 * through `call.guess`, the second by the kernel, and both count each guess before checking it. An `unguessable` one
 * (at least 120 random bits, or a signature) is not counted: a limit would only let strangers lock out its owner.
 */
export type Judged = 'password' | 'one-time code' | 'unguessable' | 'nothing';
