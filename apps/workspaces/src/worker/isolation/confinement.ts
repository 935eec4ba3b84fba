import { execFile } from 'node:child_process';
import { cleanPath } from '../files/clean-path';
import { type Processor, processors, systemCallFilter } from './system-calls';

/** What takes parts of the kernel away from a command, for good and from all it starts. */
export interface Confinement {
  /** What to put before the command. */
  readonly argv: readonly string[];
  /** Whether it can neither connect to sockets of this machine that have a name but no file, nor signal other processes. */
  readonly scoped: boolean;
}

// The kernel is asked directly, since no program of a plain machine does it: perl is on every Debian, and in its images.
// Landlock has the same numbers on all processors; its first version that knows scopes is 6 (Linux 6.12).
const script = `
my ($prctl, $filter, $scopes) = splice @ARGV, 0, 3;
syscall($prctl + 0, 38, 1, 0, 0, 0) == 0 or die "no_new_privs: $!\\n";
if ($scopes) {
  my $rules = pack 'Q3', 0, 0, 3;
  my $set = syscall(444, $rules, length $rules, 0);
  $set >= 0 && syscall(446, $set, 0) == 0 or die "landlock: $!\\n";
}
my $code = pack 'H*', $filter;
my $program = pack 'S x![P] P', length($code) / 8, $code;
syscall($prctl + 0, 22, 2, $program, 0, 0) == 0 or die "seccomp: $!\\n";
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";
`;

const prctl: Readonly<Record<Processor, number>> = { x64: 157, arm64: 167 };
const scopesSince = 6;

/** Finds out whether system calls can be taken away here, by doing it. Answers why not where they cannot. */
export async function findConfinement(): Promise<Confinement | string> {
  const processor = processors.find((known) => known === process.arch);
  if (!processor) return `there is no list of system calls for this processor (${process.arch})`;
  const version = await tell(['perl', '-e', 'print syscall(444, 0, 0, 1)']);
  if (version instanceof Error) return reasonOf(version);
  const scoped = Number(version) >= scopesSince;
  const filter = systemCallFilter(processor).toString('hex');
  const argv = ['perl', '-e', script, String(prctl[processor]), filter, scoped ? '1' : ''];
  const tried = await tell([...argv, 'cat', '/proc/self/status']);
  if (tried instanceof Error) return reasonOf(tried);
  return /^Seccomp:\s+2$/m.test(tried) ? { argv, scoped } : 'the kernel does not filter them';
}

function tell([file = '', ...args]: readonly string[]): Promise<string | Error> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { PATH: cleanPath }, timeout: 20_000 }, (error, stdout) => resolve(error ?? stdout));
  });
}

function reasonOf(error: Error): string {
  const { code, stderr, message } = error as Error & { code?: unknown; stderr?: string };
  if (code === 'ENOENT') return 'perl is missing';
  return (stderr || message).trim().split('\n').at(-1) ?? message;
}
