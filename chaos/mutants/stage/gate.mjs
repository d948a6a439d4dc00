/** Something that others wait for until it is opened. */
export class Gate {
  /** @type {() => void} */
  open = () => undefined
  /** @type {Promise<undefined>} */
  opened = new Promise((resolve) => {
    this.open = () => resolve(undefined)
  })
}
