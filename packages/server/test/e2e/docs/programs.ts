import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** Where modules can be put that import our packages, as they are built and published. */
export const modules = fileURLToPath(new URL(`../.docs-${process.pid}/`, import.meta.url))

/** As a reader's project would have it: strict, and nothing of this repository's own settings. */
const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  skipLibCheck: true,
  types: ['node'],
}

/** Puts a program where it can be run, and answers where that is. */
export function putProgram(name: string, language: 'ts' | 'js', code: string): string {
  mkdirSync(modules, { recursive: true })
  writeFileSync(join(modules, 'package.json'), '{"type":"module"}')
  const plain =
    language === 'ts'
      ? ts.transpileModule(code, {
          compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
        }).outputText
      : code
  const file = join(modules, `${name}.mjs`)
  writeFileSync(file, plain)
  return file
}

/** What the compiler says about TypeScript, in one go: most of its time goes into what all of it imports. */
export function typeMistakes(sources: ReadonlyMap<string, string>): Map<string, string[]> {
  mkdirSync(modules, { recursive: true })
  writeFileSync(join(modules, 'package.json'), '{"type":"module"}')
  const places = new Map<string, string>()
  for (const [place, code] of sources) {
    const file = join(modules, `types-${places.size}.ts`)
    writeFileSync(file, code)
    places.set(file, place)
  }
  const program = ts.createProgram([...places.keys()], options)
  const mistakes = new Map<string, string[]>([...sources.keys()].map((place) => [place, []]))
  for (const { file, start = 0, messageText } of ts.getPreEmitDiagnostics(program)) {
    const place = file === undefined ? undefined : places.get(file.fileName)
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1
    const text = `line ${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`
    if (place === undefined) throw new Error(`The check of types could not be made: ${text}`)
    mistakes.get(place)?.push(text)
  }
  return mistakes
}

export function removePrograms(): void {
  rmSync(modules, { recursive: true, force: true })
}
