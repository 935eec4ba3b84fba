import type { FieldFacts } from '../../sdk/fields';

/** A TOTP method. */
export interface MethodFacts {
  readonly id: string;
  readonly namespaceId: string;
  readonly name: string;
  readonly issuer: string;
  readonly periodSeconds: number;
  readonly keySizeBytes: number;
  readonly qrSizePixels: number;
  readonly algorithm: string;
  readonly digits: number;
  readonly skew: number;
  readonly maxValidationAttempts: number;
  readonly selfEnrolment: boolean;
  readonly recoveryCodes: number;
}

/** Fields of a method as a client gives them. */
export interface MethodFields {
  readonly issuer?: string;
  readonly periodSeconds?: number;
  readonly keySizeBytes?: number;
  readonly qrSizePixels?: number;
  readonly algorithm?: string;
  readonly digits?: number;
  readonly skew?: number;
  readonly maxValidationAttempts?: number;
  readonly selfEnrolment?: boolean;
  readonly recoveryCodes?: number;
}

/** What the fields of a method may be, and what they are where nothing is said. */
export type MethodRules = Readonly<Record<keyof MethodFields, FieldFacts>>;

/** A secret that was just made. */
export interface NewSecretFacts {
  readonly url: string;
  readonly barcode: string;
  readonly recoveryCodes: readonly string[];
}

/** A login enforcement. */
export interface EnforcementFacts {
  readonly id: string;
  readonly namespaceId: string;
  readonly name: string;
  readonly methodIds: readonly string[];
  readonly authMethodAccessors: readonly string[];
  readonly authMethodTypes: readonly string[];
  readonly groupIds: readonly string[];
  readonly entityIds: readonly string[];
}

/** Login MFA, as the kernel lends it; methods and secrets already judge what they are given. */
export interface MfaPort {
  readonly methods: {
    readonly rules: MethodRules;
    /** Creates a method, or changes the one of that name; answers its id. */
    write(namespaceId: string, name: string, fields: MethodFields): Promise<string>;
    update(namespaceId: string, id: string, name: string | undefined, fields: MethodFields): Promise<boolean>;
    find(namespaceId: string, id: string): Promise<MethodFacts | undefined>;
    list(namespaceId: string): Promise<readonly MethodFacts[]>;
    /** False for a method of a namespace above. */
    delete(namespaceId: string, id: string): Promise<boolean>;
  };
  readonly secrets: {
    generate(method: MethodFacts, entityId: string): Promise<NewSecretFacts | undefined>;
    destroy(methodId: string, entityId: string): Promise<void>;
    unlock(methodId: string, entityId: string): Promise<void>;
  };
  readonly enforcements: {
    write(
      namespaceId: string,
      name: string,
      fields: Partial<Omit<EnforcementFacts, 'id' | 'namespaceId' | 'name'>>,
    ): Promise<void>;
    find(namespaceId: string, name: string): Promise<EnforcementFacts | undefined>;
    list(namespaceId: string): Promise<readonly EnforcementFacts[]>;
    delete(namespaceId: string, name: string): Promise<void>;
  };
  readonly logins: {
    enrol(namespaceId: string, requestId: string, methodId: string): Promise<NewSecretFacts>;
  };
}

/** What the MFA paths are lent besides. */
export interface MfaSurroundings {
  /** The short id and the path of a namespace. */
  namespace(uuid: string): { readonly id: string; readonly path: string };
  entityExists(namespaceId: string, entityId: string): Promise<boolean>;
}
