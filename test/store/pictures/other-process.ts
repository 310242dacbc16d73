// Runs instead of the process that renders pictures, and misbehaves as the width says.

process.on("message", ({ task }: { readonly task: { readonly width: number } }) => {
  if (task.width === 1) process.kill(process.pid, "SIGKILL");
  if (task.width === 2) process.exit(1);
  if (task.width === 3) for (;;);
  process.send?.({ kind: "failed", reason: "as it should", memoryBytes: 0 });
});
process.send?.({ kind: "ready" });
