export { ConsoleHost, type ConsoleHostOptions, codeRequired, ProofNeeded } from './console-host';
export type { PasskeyAsker, PasskeyPurpose, Passkeys } from './passkeys';
export type { CameBack, ComingBack, Leave, ProviderSignIn } from './provider-sign-in';
export { isOwnPage } from './same-origin';
export type { From, NewSession, Sessions, SessionView } from './sessions';
