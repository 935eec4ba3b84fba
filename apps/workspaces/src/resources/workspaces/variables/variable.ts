import type { Variable as Row } from '../../../generated/prisma/client';

/** A variable; the value of a sensitive one is never read for showing. */
export type Variable = Omit<Row, 'sealed'>;
