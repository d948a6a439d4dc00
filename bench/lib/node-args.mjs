/**
 * Every contestant's process, ours and the peers', has a young generation of this size: runs that wait for the database live
 * longer than Node's default of 16 MB assumes, and are copied again and again. docs/operate/sizing.md recommends it.
 */
export const nodeArgs = ['--max-semi-space-size=64']
