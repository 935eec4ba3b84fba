import { expect, it } from '@jest/globals';
import { type Fleet, play } from './placement';

const fleet: Fleet = { cells: 8, organizations: 2000, days: 60, demand: 4, skew: 0.9, change: 0.03, full: 0.75 };

it('the simulation plays the same days for the same seed', () => {
  expect(play(fleet, 'least used', 7)).toEqual(play(fleet, 'least used', 7));
  expect(play(fleet, 'least used', 7)).not.toEqual(play(fleet, 'least used', 8));
});

it('no placement is better than the largest organization and the mean load allow', () => {
  for (const placement of ['digest', 'least used', 'least used, then moved'] as const) {
    const { peak, largest } = play(fleet, placement, 1);
    expect(peak).toBeGreaterThanOrEqual(Math.max(largest, 0.45));
  }
});

it('a placement moves organizations only if moves are allowed, and then no cell is overloaded', () => {
  expect(play(fleet, 'digest', 3).moves).toBe(0);
  const moved = play({ ...fleet, change: 0.1 }, 'least used, then moved', 3);
  expect(moved.moves).toBeGreaterThan(0);
  expect(moved.overloaded).toBeLessThanOrEqual(play({ ...fleet, change: 0.1 }, 'least used', 3).overloaded);
});
