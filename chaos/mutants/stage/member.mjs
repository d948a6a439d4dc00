// A process under test whose door to the database knows statements.
import { Member } from '../../fleet.mjs'
import { listen } from './proxy.mjs'

export class StruckMember extends Member {
  /** What becomes of its statements, from now on. @type {import('./proxy.mjs').FateOf} */
  fateOf = () => undefined

  /**
   * Opens its door and starts it.
   * @param {{ name: string, roles: string[], command: string, folder: string, databaseUrl: string, settings: Record<string, string>,
   *   note(event: object): void }} options `note` writes down what becomes of it
   */
  static async open({ databaseUrl, settings, note, ...options }) {
    const own = Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON_'))
    const member = new StruckMember({
      ...options,
      onStart: (life) => note({ started: life.name, ...life }),
      onReady: (pid) => note({ isReady: pid }),
      onTerminate: (pid) => note({ terminated: pid, pid }),
      onKill: (pid) => note({ killed: pid }),
      onEnd: (death) => note({ ended: death.name, ...death }),
    })
    member.databaseDoor = await listen(databaseUrl, (call) => member.fateOf(call))
    member.env = {
      ...Object.fromEntries(own),
      DATABASE_URL: member.databaseDoor.url,
      CHAOS_FOLDER: options.folder,
      ...settings,
    }
    return member
  }

  get running() {
    return this.child !== null
  }

  /** However far it got. */
  async end() {
    await this.kill()
    await this.databaseDoor.close()
  }
}
