/**
 * The live line of a terminal. What always holds: it is one line in one place, whatever else is written goes above it,
 * and nothing of it stays when it is hidden.
 */
import type { Ora } from 'ora';
import type { Tell } from './command.ts';

/** A place for one line that changes. */
export interface Live {
  show(tell: Tell): void;
  hide(): void;
}

/** The spinner and the blank after it, and the last column, which makes some terminals wrap. */
const FRAME_COLUMNS = 3;
/** Of a terminal that does not say how wide it is. */
const COLUMNS = 80;

export class LiveLine implements Live {
  readonly #stream: NodeJS.WriteStream;
  readonly #color: boolean;
  readonly #onResize = (): void => this.#draw();
  #tell: Tell | undefined;
  #spinner: Ora | undefined;
  #isLoading = false;

  constructor(stream: NodeJS.WriteStream, { color }: { readonly color: boolean }) {
    this.#stream = stream;
    this.#color = color;
  }

  show(tell: Tell): void {
    const isFirst = this.#tell === undefined;
    this.#tell = tell;
    if (isFirst) this.#stream.on('resize', this.#onResize);
    if (this.#spinner !== undefined) this.#draw();
    else if (!this.#isLoading) {
      this.#isLoading = true;
      // Nobody waits for it: a line that comes a moment later is still in time.
      void this.#load();
    }
  }

  hide(): void {
    this.#tell = undefined;
    this.#stream.off('resize', this.#onResize);
    this.#spinner?.stop();
  }

  async #load(): Promise<void> {
    // Loaded here: most commands are over before they have anything to show.
    const { default: ora } = await import('ora');
    this.#spinner = ora({
      stream: this.#stream,
      color: this.#color ? 'cyan' : false,
      // Ctrl-C is ours (signals.ts), and what is typed ahead is the shell's.
      discardStdin: false,
      isEnabled: true,
    });
    this.#draw();
  }

  #draw(): void {
    if (this.#tell === undefined || this.#spinner === undefined) return;
    this.#spinner.text = this.#tell(Math.max(1, (this.#stream.columns ?? COLUMNS) - FRAME_COLUMNS));
    // ora draws again by itself, which is soon enough.
    if (!this.#spinner.isSpinning) this.#spinner.start();
  }
}
