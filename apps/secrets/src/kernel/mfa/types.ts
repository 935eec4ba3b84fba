import type { Algorithm } from '@keystead/auth';
import type { Attempts } from '../attempts/attempts';
import type { Barrier, ChangeNotices, Clock, Committer, Tx } from '../storage/types';

/** What an operator sets of a TOTP method. */
export interface MethodConfig {
  readonly issuer: string;
  readonly periodSeconds: number;
  readonly keySizeBytes: number;
  /** Edge of the QR code in pixels; 0 for none. */
  readonly qrSizePixels: number;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  /** Periods before and after the present one whose codes count. */
  readonly skew: 0 | 1;
  readonly maxValidationAttempts: number;
  /** Own addition: who has no secret yet may make one during a login that asks for it. */
  readonly selfEnrolment: boolean;
  /** Own addition: single-use codes handed out with a new secret; 0 for none. */
  readonly recoveryCodes: number;
}

/** A way to prove a second factor. */
export interface MfaMethod extends MethodConfig {
  readonly id: string;
  readonly namespaceId: string;
  /** Empty for none. */
  readonly name: string;
  readonly type: 'totp';
}

/** Which logins need which methods; one method of an enforcement is enough, every enforcement must be met. */
export interface Enforcement {
  readonly id: string;
  readonly namespaceId: string;
  readonly name: string;
  readonly methodIds: readonly string[];
  readonly authMethodAccessors: readonly string[];
  readonly authMethodTypes: readonly string[];
  readonly groupIds: readonly string[];
  readonly entityIds: readonly string[];
}

/** The sealed part of a secret. The scheme is that of the method when the secret was made. */
export interface SealedSecret {
  /** Base64. */
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  readonly periodSeconds: number;
  readonly skew: 0 | 1;
}

/** A secret just made: the only moment it is shown. */
export interface NewSecret {
  readonly url: string;
  /** Base64 of a PNG; empty where the method has no QR size. */
  readonly barcode: string;
  readonly recoveryCodes: readonly string[];
}

/** A login that waits for its second factors. */
export interface PendingLogin {
  readonly namespaceId: string;
  readonly entityId: string;
  /** The login reply of the auth method, to be finished later. */
  readonly login: unknown;
  readonly mountId: string;
  /** Where the login was made, inside its namespace, and from where. */
  readonly path: string;
  readonly address: string;
  readonly enforcementIds: readonly string[];
  /** A secret made during this login that does not count before a code confirms it. */
  readonly enrolment?: {
    readonly methodId: string;
    readonly secret: SealedSecret;
    readonly recoveryCodes: readonly string[];
  };
}

/** What MFA is built from. */
export interface MfaNeeds {
  readonly database: Pick<Tx, 'query' | 'prisma'>;
  readonly committer: Pick<Committer, 'transaction' | 'inTurn'>;
  readonly barrier: Pick<Barrier, 'sealJson' | 'openJson' | 'mac'>;
  readonly notices: ChangeNotices;
  readonly clock: Clock;
  readonly attempts: Attempts;
  /** A namespace and those above it, up to root. */
  lineage(namespaceId: string): readonly string[];
}
