// node touch-memory.mjs BYTES: prints how many microseconds it took to touch a new page. A process of its own, so that what it touched is gone with it.
const pageBytes = 4_096
const bytes = Number(process.argv[2])
// As large as this, it comes from the kernel by itself, and untouched.
const fresh = new Uint8Array(bytes)
const begun = performance.now()
for (let at = 0; at < bytes; at += pageBytes) fresh[at] = 1
console.log(((performance.now() - begun) * 1_000) / (bytes / pageBytes))
