/** Processors with known numbers of system calls. */
export const processors = ['x64', 'arm64'] as const;
/** A processor, by Node's name. */
export type Processor = (typeof processors)[number];

/** The number of a system call on each processor; undefined if the processor does not have that call. */
type Numbers = readonly [x64: number, arm64: number | undefined];

/**
 * System calls that are refused to a run. Calls that need a capability fail anyway, because a run has none. The calls
 * in this list need no capability, and the programs in runs do not use them. The choice follows the default profile of
 * container engines (docs.docker.com/engine/security/seccomp).
 */
const refused: Readonly<Record<string, Numbers>> = {
  // Inside a new user namespace, a run would have all capabilities.
  unshare: [272, 97],
  setns: [308, 268],
  // Kernel keyrings belong to sessions and users, not to namespaces.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large interfaces of the kernel with a history of escapes.
  bpf: [321, 280],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  modify_ldt: [154, undefined],
  uselib: [134, undefined],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  open_tree: [428, 428],
  lookup_dcookie: [212, 18],
  move_pages: [279, 239],
  // The kernel's log, on machines where all users may read it.
  syslog: [103, 116],
  // Memory and files of other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
};

// Refused with ENOSYS, as on an older kernel, so that programs use clone() instead: the flags of clone3() are in
// memory, which a filter cannot read.
const clone3 = 435;
const clone: Numbers = [56, 220];
const newNamespaces = 0x7e020000;

const socket: Numbers = [41, 198];
/** Allowed socket families: Unix sockets, IPv4, IPv6, and netlink for the kernel's tables of addresses and routes. */
const families = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const netlinkRoute = 0;

/** The newest system call that this list considers (mseal, Linux 6.10). Newer calls fail as on an older kernel. */
const lastKnown = 462;

const architectures: Readonly<Record<Processor, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

// linux/bpf_common.h and linux/seccomp.h.
const load = 0x20;
const jumpEqual = 0x15;
const jumpGreater = 0x25;
const jumpAny = 0x45;
const give = 0x06;
const allow = 0x7fff0000;
const fail = (errno: number): number => 0x00050000 | errno;
const eperm = 1;
const enosys = 38;
const eafnosupport = 97;
const numberAt = 0;
const architectureAt = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

/**
 * A filter of system calls for `SECCOMP_SET_MODE_FILTER`: `struct sock_filter`s in the processor's own byte order, which
 * is little-endian on both.
 */
export function systemCallFilter(processor: Processor): Buffer {
  const of = (numbers: Numbers) => numbers[processor === 'x64' ? 0 : 1];
  const code: [code: number, whenTrue: number, whenFalse: number, value: number][] = [];
  /** The next `count` instructions apply only if the condition is true. */
  const only = (test: number, value: number, count: number) => code.push([test, 0, count, value]);
  const unless = (test: number, value: number, count: number) => code.push([test, count, 0, value]);
  const end = (what: number) => code.push([give, 0, 0, what]);
  const read = (at: number) => code.push([load, 0, 0, at]);

  read(architectureAt);
  unless(jumpEqual, architectures[processor], 1);
  end(fail(enosys));
  read(numberAt);
  only(jumpGreater, lastKnown, 1);
  end(fail(enosys));
  only(jumpEqual, clone3, 1);
  end(fail(enosys));
  for (const numbers of Object.values(refused)) {
    const number = of(numbers);
    if (number === undefined) continue;
    only(jumpEqual, number, 1);
    end(fail(eperm));
  }
  only(jumpEqual, of(clone)!, 4);
  read(argumentAt(0));
  only(jumpAny, newNamespaces, 1);
  end(fail(eperm));
  end(allow);
  only(jumpEqual, of(socket)!, 12);
  read(argumentAt(0));
  for (const family of [families.unix, families.inet, families.inet6]) {
    only(jumpEqual, family, 1);
    end(allow);
  }
  unless(jumpEqual, families.netlink, 1);
  end(fail(eafnosupport));
  read(argumentAt(2));
  unless(jumpEqual, netlinkRoute, 1);
  end(fail(eafnosupport));
  end(allow);

  const filter = Buffer.alloc(code.length * 8);
  code.forEach(([what, whenTrue, whenFalse, value], index) => {
    filter.writeUInt16LE(what, index * 8);
    filter.writeUInt8(whenTrue, index * 8 + 2);
    filter.writeUInt8(whenFalse, index * 8 + 3);
    filter.writeUInt32LE(value, index * 8 + 4);
  });
  return filter;
}
