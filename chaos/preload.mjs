// Loaded into every process under test with --import: the one thing that cannot be done to it from outside. On SIGUSR2 the
// event loop stands still, as code that computes for long makes it.
const stillness = new Int32Array(new SharedArrayBuffer(4))
process.on('SIGUSR2', () => Atomics.wait(stillness, 0, 0, Number(process.env.CHAOS_BLOCK_MS ?? 5_000)))
