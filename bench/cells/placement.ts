/**
 * How organizations are placed: by a digest of their id, or in the least used cell; then they stay there, or move to
 * another cell when their cell is full.
 */
export type Placement = 'digest' | 'least used' | 'least used, then moved';

/** The parameters of a simulation. Loads are shares of the capacity of a cell. */
export interface Fleet {
  readonly cells: number;
  readonly organizations: number;
  readonly days: number;
  /** The total load on the first day, as a number of full cells. */
  readonly demand: number;
  /** The exponent of Zipf's law: the load of the organization of rank r is proportional to r^-skew. */
  readonly skew: number;
  /** The standard deviation of the logarithm of a load from one day to the next. */
  readonly change: number;
  /** Above this share of its capacity, a cell is full. */
  readonly full: number;
}

/** The result of the simulation of a fleet of cells. */
export interface Outcome {
  /** The highest load of a cell on any day. */
  readonly peak: number;
  /** The share of overloaded cells, counted for each day. */
  readonly overloaded: number;
  readonly moves: number;
  /** The highest load of the largest organization. With any placement, some cell has at least this load. */
  readonly largest: number;
}

/** Random numbers from 0 to 1; the same seed gives the same numbers (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Simulates the days of a fleet. With the same seed, all placements get the same organizations. */
export function play(fleet: Fleet, placement: Placement, seed: number): Outcome {
  const random = numbersFrom(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const weights = Array.from({ length: fleet.organizations }, (_, rank) => (rank + 1) ** -fleet.skew);
  const scale = fleet.demand / weights.reduce((sum, weight) => sum + weight, 0);
  const loads = shuffled(weights, random).map((weight) => weight * scale);
  const used = new Array<number>(fleet.cells).fill(0);
  const least = () => used.indexOf(Math.min(...used));
  const cellOf = loads.map((load) => {
    const cell = placement === 'digest' ? Math.floor(random() * fleet.cells) : least();
    // The same numbers are drawn for every placement.
    if (placement !== 'digest') random();
    used[cell]! += load;
    return cell;
  });
  let [peak, overloaded, moves, largest] = [0, 0, 0, 0];
  for (let day = 0; day < fleet.days; day++) {
    used.fill(0);
    for (const [at, load] of loads.entries()) {
      loads[at] = load * Math.exp(fleet.change * normal() - fleet.change ** 2 / 2);
      used[cellOf[at]!]! += loads[at]!;
      largest = Math.max(largest, loads[at]!);
    }
    if (placement === 'least used, then moved') moves += relieve(fleet, loads, cellOf, used);
    peak = Math.max(peak, ...used);
    overloaded += used.filter((share) => share > 1).length;
  }
  return { peak, overloaded: overloaded / (fleet.days * fleet.cells), moves, largest };
}

/** Moves the smallest sufficient organization out of each full cell, if it fits elsewhere. Returns how many moved. */
function relieve({ full }: Fleet, loads: readonly number[], cellOf: number[], used: number[]): number {
  let moves = 0;
  for (const [cell, share] of used.entries()) {
    if (share <= full) continue;
    const target = used.indexOf(Math.min(...used));
    const room = full - used[target]!;
    const fitting = loads.flatMap((load, at) => (cellOf[at] === cell && load <= room ? [at] : []));
    const enough = fitting.filter((at) => loads[at]! >= share - full).sort((a, b) => loads[a]! - loads[b]!)[0];
    const moved = enough ?? fitting.sort((a, b) => loads[b]! - loads[a]!)[0];
    if (moved === undefined || target === cell) continue;
    cellOf[moved] = target;
    used[cell]! -= loads[moved]!;
    used[target]! += loads[moved]!;
    moves++;
  }
  return moves;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const order = [...items];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
  return order;
}
