/** A setting with which the reference service cannot start; the message names it, its value and the solution. */
export class ReferenceFault extends Error {
  override readonly name = 'ReferenceFault';
}
