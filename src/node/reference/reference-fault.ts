/** An option with which the reference service cannot start; the message has its value and the remedy, and goes on after its name. */
export class ReferenceFault extends Error {
  override readonly name = 'ReferenceFault';
  readonly option: FaultyOption;

  constructor(option: FaultyOption, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** The options that can keep the reference service from starting. */
export type FaultyOption = 'listen' | 'deprecated' | 'db';
