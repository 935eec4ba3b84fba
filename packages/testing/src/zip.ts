import { crc32 } from 'node:zlib';

/** A zip archive of stored files. */
export function zipOf(files: readonly (readonly [name: string, text: string])[]): Buffer {
  const bodies: Buffer[] = [];
  const listed: Buffer[] = [];
  let at = 0;
  for (const [name, text] of files) {
    const [head, entry, data, called] = [Buffer.alloc(30), Buffer.alloc(46), Buffer.from(text), Buffer.from(name)];
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(10, 4);
    head.writeUInt32LE(crc32(data), 14);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt32LE(data.length, 22);
    head.writeUInt16LE(called.length, 26);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(10, 6);
    head.copy(entry, 16, 14, 26);
    entry.writeUInt16LE(called.length, 28);
    entry.writeUInt32LE(at, 42);
    bodies.push(head, called, data);
    listed.push(entry, called);
    at += head.length + called.length + data.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(listed).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, ...listed, end]);
}
