/** The edition of the service. Features of one edition are absent from the other. */
export type Edition = 'hosted' | 'self-hosted';

/** Every edition, for configuration and documentation. */
export const editions = ['hosted', 'self-hosted'] as const satisfies readonly Edition[];
