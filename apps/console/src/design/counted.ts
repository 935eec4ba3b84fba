/** A number with its noun: `1 project`, `2 projects`. */
export const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;
