import type { Algorithm } from '@keystead/auth';
import type { Attempts } from '../attempts/attempts';
import type { Barrier, ChangeNotices, Clock, Committer, Tx } from '../storage/types';

/** The settings of a TOTP method. */
export interface MethodConfig {
  readonly issuer: string;
  readonly periodSeconds: number;
  readonly keySizeBytes: number;
  /** Width of the QR code in pixels; 0 for none. */
  readonly qrSizePixels: number;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  /** Number of periods before and after the current one whose codes are valid. */
  readonly skew: 0 | 1;
  readonly maxValidationAttempts: number;
  /** Our addition: a user without a secret can create one during a login that requires it. */
  readonly selfEnrolment: boolean;
  /** Our addition: single-use codes issued with a new secret; 0 for none. */
  readonly recoveryCodes: number;
  /** Our addition: a login with a passkey, which is two factors by itself, needs no code. */
  readonly acceptsPasskeys?: boolean;
}

/** A method of proving a second factor. */
export interface MfaMethod extends MethodConfig {
  readonly id: string;
  readonly namespaceId: string;
  /** Empty for none. */
  readonly name: string;
  readonly type: 'totp';
}

/** Which logins require which methods. Each enforcement must be met, by any one of its methods. */
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

/** The sealed part of a secret, with the settings that its method had when it was created. */
export interface SealedSecret {
  /** Base64. */
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly digits: 6 | 8;
  readonly periodSeconds: number;
  readonly skew: 0 | 1;
}

/** A new secret, which is shown only once. */
export interface NewSecret {
  readonly url: string;
  /** Base64 of a PNG; empty if the method has no QR size. */
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
  /** The path of the login inside its namespace, and the client's address. */
  readonly path: string;
  readonly address: string;
  readonly enforcementIds: readonly string[];
  /** A secret created during this login; it is not valid before a code confirms it. */
  readonly enrolment?: {
    readonly methodId: string;
    readonly secret: SealedSecret;
    readonly recoveryCodes: readonly string[];
  };
}

/** The dependencies of MFA. */
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
