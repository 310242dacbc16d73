// What a person sees while the benchmark works: on a terminal a line that moves, elsewhere few lines.

const isTerminal = process.stderr.isTTY === true;

export const say = (text: string): void => {
  process.stderr.write(isTerminal ? `\r\x1b[K${text}\n` : `${text}\n`);
};

/** A bar from 0 to `total`; elsewhere than on a terminal a line for each fifth. */
export function bar(label: string, total: number): (done: number) => void {
  let fifthsSaid = 0;
  return (done) => {
    const fifths = Math.floor((done / total) * 5);
    if (isTerminal) {
      const filled = Math.round((done / total) * 30);
      const drawn = "█".repeat(filled) + "·".repeat(30 - filled);
      process.stderr.write(`\r\x1b[K${label} ${drawn} ${done.toLocaleString("en")}`);
      if (done >= total) process.stderr.write("\n");
    } else if (fifths > fifthsSaid) {
      fifthsSaid = fifths;
      say(`  ${label}: ${fifths * 20} %`);
    }
  };
}

/** The time that something long takes, shown while it takes it. */
export async function during<T>(label: string, work: Promise<T>): Promise<T> {
  if (!isTerminal) {
    say(`  ${label} …`);
    return work;
  }
  const startedAt = Date.now();
  const show = () =>
    process.stderr.write(`\r\x1b[K${label} … ${Math.round((Date.now() - startedAt) / 1000)} s`);
  show();
  const timer = setInterval(show, 1000);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    process.stderr.write("\n");
  }
}
