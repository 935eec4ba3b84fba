/**
 * What an operation compares what is sent with. A password and a one-time code can be guessed: the first is judged through
 * only through `call.guess`, the second by the kernel, and both count each guess before they look at it. What is `unguessable`, 120
 * random bits and more or a signature, is not counted: a limit would only let strangers keep its owner out.
 */
export type Judged = 'password' | 'one-time code' | 'unguessable' | 'nothing';
