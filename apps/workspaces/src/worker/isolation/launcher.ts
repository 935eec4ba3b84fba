import { execFile } from 'node:child_process';
import type { Owner } from '../files/archive';
import { cleanPath } from './command';
import type { ProcessLimit } from './limits';
import { type Processor, processors, systemCallFilter } from './system-calls';

/** The numbers of the system calls in `script`. Landlock has the same numbers on all processors. */
const numbers = {
  capget: [125, 90],
  capset: [126, 91],
  mount: [165, 40],
  pivot_root: [155, 41],
  prctl: [157, 167],
  prlimit64: [302, 261],
  rt_sigprocmask: [14, 135],
  setgroups: [116, 159],
  setresgid: [119, 149],
  setresuid: [117, 147],
  umount2: [166, 39],
  unshare: [272, 97],
  landlock_create_ruleset: [444, 444],
  landlock_restrict_self: [446, 446],
} as const;

// From asm-generic/resource.h.
const resources = { fsize: 1, data: 2, core: 4, nproc: 6, nofile: 7 } as const;

// From linux/sched.h.
const spaces = { mount: 0x20000, uts: 0x4000000, ipc: 0x8000000, user: 0x10000000, pid: 0x20000000, net: 0x40000000 };

/**
 * One program that replaces the eleven programs of `launchBySteps`, because starting programs is the main cost of a
 * confined command. It also blocks system calls, which no standard program can do. Debian and its images contain perl.
 */
const script = (processor: Processor): string => `
my %number = (${Object.entries(numbers).map(([name, [x64, arm64]]) => `${name} => ${processor === 'x64' ? x64 : arm64}`)});
# The strings are in variables, because perl's syscall accepts only strings that it could write to.
sub call {
  my $name = shift;
  my $result = syscall $number{$name}, @_;
  $result >= 0 or die "$name: $!\\n";
  return $result;
}
sub put {
  my ($file, $text) = @_;
  open my $to, '>', $file or die "$file: $!\\n";
  defined syswrite $to, $text or die "$file: $!\\n";
}
sub end_with_parent { call 'prctl', 1, 9, 0, 0, 0 }

my %given;
while (@ARGV) {
  my $one = shift;
  last if $one eq '--';
  my ($key, $value) = split /=/, $one, 2;
  push @{$given{$key}}, $value;
}
my ($uid, $gid) = map { $_->[0] } @given{'uid', 'gid'};

put $_, $$ for @{$given{join}};
end_with_parent;

if ($given{spaces}) {
  my ($outer_uid, $outer_gid) = ($> + 0, $) + 0);
  call 'unshare', $given{spaces}[0] + 0;
  if ($given{spaces}[0] & ${spaces.user}) {
    put '/proc/self/setgroups', 'deny';
    put '/proc/self/uid_map', "0 $outer_uid 1";
    put '/proc/self/gid_map', "0 $outer_gid 1";
  }
  my ($none, $top, $here, $old) = ('none', '/', '.', 'old');
  call 'mount', $none, $top, 0, 0x44000, 0;
  # A signal to the group is meant for the command. This process blocks it, and ends after the command.
  my ($interrupts, $before) = (pack('Q', 1 << 1 | 1 << 14), "\\0" x 8);
  call 'rt_sigprocmask', 0, $interrupts, $before, 8;
  defined(my $child = fork) or die "fork: $!\\n";
  if ($child) {
    waitpid $child, 0;
    my $signal = $? & 127 or exit $? >> 8;
    call 'rt_sigprocmask', 1, $interrupts, 0, 8;
    kill $signal, $$;
    exit 1;
  }
  call 'rt_sigprocmask', 2, $before, 0, 8;
  end_with_parent;

  my %flags = (ro => 1, nosuid => 2, nodev => 4, noexec => 8, bind => 4096, rbind => 20480);
  open my $mounts, '<', $given{mounts}[0] or die "$given{mounts}[0]: $!\\n";
  while (<$mounts>) {
    my ($source, $at, $type, $options) = map { s/\\\\(\\d{3})/chr oct $1/ger } split / /;
    my ($flags, @data) = 0;
    for (split /,/, $options) { $flags{$_} ? $flags |= $flags{$_} : push @data, $_ }
    my ($bind, $kept) = ($flags & 20480, $flags & 15);
    call 'mount', $source, $at, $type, $bind || $flags, join(',', @data);
    call 'mount', $source, $at, $type, 32 | 4096 | $kept, 0 if $bind && $kept;
  }
  chdir $given{root}[0] or die "$given{root}[0]: $!\\n";
  call 'pivot_root', $here, $old;
  chdir '/' or die "/: $!\\n";
  call 'umount2', $old, 2;
  chroot '/inside' and chdir '/' or die "chroot: $!\\n";
}

for my $capability ($given{rights} ? () : 0 .. 63) {
  next if syscall($number{prctl}, 24, $capability, 0, 0, 0) == 0;
  $capability > 0 && $! == 22 ? last : die "capabilities: $!\\n";
}
# The ambient ones.
call 'prctl', 47, 4, 0, 0, 0;
if (defined $uid) {
  call 'setgroups', 0, 0;
  call 'setresgid', ($gid + 0) x 3;
  call 'setresuid', ($uid + 0) x 3;
}
my ($version, $held) = (pack('LL', 0x20080522, 0), "\\0" x 24);
call 'capget', $version, $held;
my @held = unpack 'L6', $held;
@held = (0) x 6 unless $given{rights};
@held[2, 5] = (0, 0);
$held = pack 'L6', @held;
call 'capset', $version, $held;
# A change of the user id resets this, so it is set again.
end_with_parent;
# no_new_privs.
call 'prctl', 38, 1, 0, 0, 0;
for (@{$given{limit}}) {
  my ($resource, $most) = split /:/;
  my $both = pack 'QQ', $most, $most;
  call 'prlimit64', 0, $resource + 0, $both, 0;
}
if ($given{scopes}) {
  my $rules = pack 'Q3', 0, 0, 3;
  call 'landlock_restrict_self', call('landlock_create_ruleset', $rules, length $rules, 0), 0;
}
my $code = pack 'H*', $given{filter}[0];
my $program = pack 'S x![P] P', length($code) / 8, $code;
call 'prctl', 22, 2, $program, 0, 0;
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";
`;

/** The isolation of a command, independent of the programs that apply it. */
export interface Apart {
  /** Control groups to join first. */
  readonly cgroupProcsFiles: readonly string[];
  /** Undefined for the namespaces of the machine. */
  readonly namespaces: { readonly user: boolean; readonly net: boolean } | undefined;
  /** Where the command's root is mounted, and the list of mounts in it. Only with namespaces. */
  readonly root: { readonly mountPoint: string; readonly mounts: string } | undefined;
  /** Undefined for the worker's own user. */
  readonly owner: Owner | undefined;
  /** Whether it keeps the capabilities of its user. */
  readonly keepsRights: boolean;
  readonly limits: readonly ProcessLimit[];
}

/** Permanently denies parts of the kernel to a command and everything that it starts. */
export interface Confinement {
  readonly processor: Processor;
  /** `struct sock_filter`s, in hexadecimal digits. */
  readonly filter: string;
  /** Whether abstract sockets of this machine and signals to other processes are blocked. */
  readonly scoped: boolean;
}

/** The prefix that isolates and confines a command. */
export function launchAtOnce(confinement: Confinement, apart: Apart): string[] {
  const { namespaces, root, owner } = apart;
  const { mount, uts, ipc, user, pid, net } = spaces;
  const flags = (mount | uts | ipc | pid) + (namespaces?.user ? user : 0) + (namespaces?.net ? net : 0);
  return [
    ...['perl', '-e', script(confinement.processor), '--'],
    ...apart.cgroupProcsFiles.map((file) => `join=${file}`),
    ...(namespaces && root ? [`spaces=${flags}`, `root=${root.mountPoint}`, `mounts=${root.mounts}`] : []),
    ...(owner ? [`uid=${owner.uid}`, `gid=${owner.gid}`] : []),
    ...(apart.keepsRights ? ['rights=kept'] : []),
    ...apart.limits.map(({ name, most }) => `limit=${resources[name]}:${most}`),
    ...(confinement.scoped ? ['scopes=all'] : []),
    `filter=${confinement.filter}`,
    '--',
  ];
}

/** The first version of Landlock that knows scopes (Linux 6.12). */
const scopesSince = 6;

/** Denies system calls to a test command. Returns the reason if that is not possible here. */
export async function findConfinement(): Promise<Confinement | string> {
  const processor = processors.find((arch) => arch === process.arch);
  if (!processor) return `there is no list of system calls for this processor (${process.arch})`;
  const version = await tell(['perl', '-e', 'print syscall(444, 0, 0, 1)']);
  if (version instanceof Error) return reasonOf(version);
  const confinement = {
    processor,
    filter: systemCallFilter(processor).toString('hex'),
    scoped: Number(version) >= scopesSince,
  };
  const free = { cgroupProcsFiles: [], namespaces: undefined, root: undefined, owner: undefined, limits: [] };
  const argv = launchAtOnce(confinement, { ...free, keepsRights: true });
  const result = await tell([...argv, 'cat', '/proc/self/status']);
  if (result instanceof Error) return reasonOf(result);
  return /^Seccomp:\s+2$/m.test(result) ? confinement : 'the kernel does not filter them';
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
