import { z } from 'zod';

/**
 * Any character except letters, marks, digits, punctuation, symbols, the plain space, and the joiners in some scripts
 * and in emoji.
 */
const unseen = /[^\p{L}\p{M}\p{N}\p{P}\p{S} \u200c\u200d]/u;

/**
 * Whether a string has no line ends, other controls, zero-width characters or marks of direction. With such characters,
 * two different labels could look the same.
 */
export const isSeen = (text: string): boolean => !unseen.test(text);

export const notSeen = 'must not contain invisible characters';

/** A name that people choose and read in lists. */
export const label = (max: number) => z.string().trim().min(1).max(max).refine(isSeen, notSeen);
