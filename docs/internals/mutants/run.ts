import path from 'node:path';
import { readConformance } from '../conformance/report';
import { readArguments, rowsToPlay } from './choose';
import { type Outcome, Rows, Worker } from './crew';
import { type Planned, planOf } from './plan';
import { readResults, recordResult } from './results';

// `npm run mutants`: runs every mutant of every row against the tests that name the row, and records the results.
//   --changed [commit]   only rows whose declarations, tests or mutants differ from a commit (default: the previous one)
//   --seconds N          starts no row after this time
//   --workers N          number of processes; default two
//   other arguments only these rows: W1.3, W1 for a whole table, or W

const root = path.resolve(__dirname, '../../..');

function tell({ row, mutants }: Planned, { survivors, failure }: Outcome): void {
  if (failure !== undefined) return void process.stdout.write(`${row.id} was not played: ${failure}\n`);
  process.stdout.write(`${row.id} ${mutants.length - survivors.length}/${mutants.length}\n`);
  for (const { name, reached } of survivors) {
    process.stdout.write(`  survives: ${name}${reached ? '' : ' (the tests never come to it)'}\n`);
  }
}

async function main(): Promise<number> {
  const options = readArguments(process.argv.slice(2));
  const plan = planOf(readConformance(root));
  const workers = Array.from({ length: options.workers }, () => new Worker());
  const [places] = await Promise.all(workers.map((worker) => worker.start()));
  const chosen = rowsToPlay(root, plan, options, readResults(root), places!);
  const rows = new Rows(chosen);
  const begun = Date.now();
  const end = begun + options.seconds * 1000;
  const counts = { rows: 0, planted: 0, survived: 0, broken: 0 };
  const work = async (worker: Worker) => {
    for (let planned = rows.next(undefined); planned !== undefined && Date.now() < end; planned = rows.next(planned)) {
      const outcome = await worker.play(planned);
      tell(planned, outcome);
      counts.rows += 1;
      if (outcome.failure !== undefined) {
        counts.broken += 1;
        continue;
      }
      counts.planted += planned.mutants.length;
      counts.survived += outcome.survivors.length;
      recordResult(root, plan, planned, outcome);
    }
    await worker.end();
  };
  await Promise.all(workers.map(work));
  const seconds = Math.round((Date.now() - begun) / 1000);
  process.stdout.write(`${counts.rows} rows, ${counts.planted} mutants, ${seconds} s\n`);
  if (counts.rows < chosen.length) {
    process.stdout.write(`${chosen.length - counts.rows} rows were left for want of time\n`);
  }
  process.stdout.write(`${counts.planted - counts.survived} passed, ${counts.survived + counts.broken} failed\n`);
  return counts.survived + counts.broken === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
