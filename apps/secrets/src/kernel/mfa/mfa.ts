import type { Tx } from '../storage/types';
import { type AuthMounts, Enforcements } from './enforcements';
import { Factors } from './factors';
import { MfaLogins } from './logins';
import { Methods } from './methods';
import { MfaSecrets } from './secrets';
import { StepUp } from './step-up';
import type { MfaNeeds } from './types';

/** Second factors of logins, and of requests if a policy asks for them. Spec: TOTP MFA. */
export class Mfa {
  readonly methods: Methods;
  readonly secrets: MfaSecrets;
  readonly enforcements: Enforcements;
  readonly logins: MfaLogins;
  readonly stepUp: StepUp;

  constructor(needs: MfaNeeds, mounts: AuthMounts) {
    this.methods = new Methods(needs);
    this.secrets = new MfaSecrets(needs);
    this.enforcements = new Enforcements(needs, mounts);
    const factors = new Factors(needs, this.secrets);
    this.logins = new MfaLogins(needs, this.methods, this.enforcements, this.secrets, factors);
    this.stepUp = new StepUp(this.methods, factors);
  }

  /** Removes the methods and enforcements of a namespace. The caller sends the notice: `mfaNotice`. */
  async clear({ prisma }: Tx, namespaceId: string): Promise<void> {
    await prisma.mfaEnforcement.deleteMany({ where: { namespaceId } });
    await prisma.mfaMethod.deleteMany({ where: { namespaceId } });
  }
}
