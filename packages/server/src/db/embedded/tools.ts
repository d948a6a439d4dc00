import type { BinaryPackage } from './binaries.js'
import { copyOfBinaries, makeSymlinks, programPath } from './binaries.js'
import { EmbeddedPostgresError, OTHER_WAYS_OUT } from './failure.js'
import type { Launcher } from './launcher.js'
import { launchersFor } from './launcher.js'
import type { Layout } from './layout.js'
import type { Identity, Outcome } from './run-program.js'

/** Binaries and a way to run them, both tried out on this data folder. */
export interface Tools {
  readonly account: Identity | null
  run(program: 'initdb' | 'pg_ctl', args: readonly string[], timeoutMs?: number): Promise<Outcome>
}

type Verdict = 'works' | 'data out of reach' | 'binary out of reach' | 'binary broken' | 'not possible here'

interface Probe {
  readonly verdict: Verdict
  readonly said: string
}

/** A trial instead of a look at permission bits: ACLs, capabilities and odd mounts count too. */
const TRIAL = `
cd -- "$1" || exit 91
test -e "$2" || exit 92
"$2" --version
case $? in 0) exit 0 ;; 126) exit 92 ;; *) exit 93 ;; esac
`
const VERDICTS: ReadonlyMap<number | null, Verdict> = new Map([
  [0, 'works'],
  [91, 'data out of reach'],
  [92, 'binary out of reach'],
  [93, 'binary broken'],
])

export async function prepareTools(
  layout: Layout,
  binaries: BinaryPackage,
  account: Identity | null,
  log: (message: string, fields?: Record<string, unknown>) => void,
): Promise<Tools> {
  const launchers = await launchersFor(account)
  if (await makeSymlinks(binaries.native)) {
    const probes = await probeAll(launchers, layout, binaries.native)
    const usable = choose(launchers, probes, binaries.native, account)
    if (usable) return usable
    refuseWhatNoCopyCures(probes, layout, binaries)
  }
  const copy = await copyOfBinaries(binaries, layout.home, account)
  log('postgres binaries copied beside the data: the npm package cannot be used in place', {
    from: binaries.native,
    to: copy,
  })
  const probes = await probeAll(launchers, layout, copy)
  const usable = choose(launchers, probes, copy, account)
  if (usable) return usable
  refuseWhatNoCopyCures(probes, layout, binaries)
  const said = probes.map((probe, i) => `${launchers[i]?.name}: ${probe.verdict} ${probe.said}`).join('; ')
  throw new EmbeddedPostgresError(
    `The PostgreSQL in ${binaries.native} cannot be run, nor can its copy in ${copy}: ${said}. Does a mount forbid ` +
      `programs there (noexec)? ${OTHER_WAYS_OUT}`,
  )
}

/** In order of preference, up to the first that works. */
async function probeAll(launchers: readonly Launcher[], layout: Layout, native: string): Promise<Probe[]> {
  const probes: Probe[] = []
  for (const launcher of launchers) {
    const probe = await probeWith(launcher, layout, native)
    probes.push(probe)
    if (probe.verdict === 'works') break
  }
  return probes
}

async function probeWith(launcher: Launcher, layout: Layout, native: string): Promise<Probe> {
  const postgres = programPath(native, 'postgres')
  const outcome =
    process.platform === 'win32'
      ? await launcher.run(postgres, ['--version'])
      : await launcher.run('/bin/sh', ['-c', TRIAL, 'sh', layout.home, postgres])
  return {
    verdict: VERDICTS.get(outcome.code) ?? 'not possible here',
    said: (outcome.spawnError?.message ?? outcome.output).trim(),
  }
}

function choose(
  launchers: readonly Launcher[],
  probes: readonly Probe[],
  native: string,
  account: Identity | null,
): Tools | null {
  const launcher = launchers[probes.findIndex((probe) => probe.verdict === 'works')]
  if (!launcher) return null
  return {
    account,
    run: (program, args, timeoutMs) => launcher.run(programPath(native, program), args, timeoutMs),
  }
}

function refuseWhatNoCopyCures(probes: readonly Probe[], layout: Layout, binaries: BinaryPackage): void {
  const possible = probes.filter((probe) => probe.verdict !== 'not possible here')
  const broken = possible.find((probe) => probe.verdict === 'binary broken')
  if (broken) throw brokenBinary(binaries, broken.said)
  if (possible.length > 0 && possible.every((probe) => probe.verdict === 'data out of reach')) {
    throw dataOutOfReach(layout)
  }
}

function dataOutOfReach(layout: Layout): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Postgres refuses to run as root, and the user it runs as instead cannot enter ${layout.dataDir}: a folder above ` +
      'it is closed to other users, and setpriv (util-linux), which could lead past that, is missing or not allowed ' +
      `here. ${OTHER_WAYS_OUT}`,
  )
}

function brokenBinary(binaries: BinaryPackage, said: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The PostgreSQL of ${binaries.name} ${binaries.version} does not run on this system: ${said}. It needs glibc ` +
      '(Alpine and other musl systems have none) and the libraries of a full installation. Set DATABASE_URL to a ' +
      'PostgreSQL of your own.',
  )
}
