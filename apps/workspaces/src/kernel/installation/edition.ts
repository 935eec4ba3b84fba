/** The edition of the service: what belongs to one edition is absent from the other. */
export type Edition = 'hosted' | 'self-hosted';

/** Every edition, for configuration and documentation. */
export const editions = ['hosted', 'self-hosted'] as const satisfies readonly Edition[];
