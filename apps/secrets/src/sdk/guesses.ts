/**
 * The kind of secret that an operation checks. Passwords and one-time codes can be guessed. Passwords are checked only
 * through `call.guess`, one-time codes by the kernel, and both count each guess before checking it. Guesses at an
 * `unguessable` secret (at least 120 random bits, or a signature) are not counted, because a limit would only let
 * strangers lock out its owner.
 */
export type Judged = 'password' | 'one-time code' | 'unguessable' | 'nothing';
