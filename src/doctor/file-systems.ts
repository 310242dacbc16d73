// Knows the file systems on which a database can be damaged: those of other machines, and FUSE.

/** The numbers of Linux for file systems (statfs, f_type) whose locks or syncs may not hold what they promise. */
const risky: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x65735546, "FUSE"],
  [0x01021997, "9P"],
  [0x00c36400, "CephFS"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x786f4256, "VirtualBox shared folder"],
]);

/** Other systems number their file systems in other ways. */
export const riskyFileSystem = (type: number, platform: string): string | undefined =>
  platform === "linux" ? risky.get(type >>> 0) : undefined;
