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

export interface LiveLook {
  readonly color: boolean;
  /** Whether the terminal breaks a line anew that has become too long for it; most do. */
  readonly reflows: boolean;
}

export class LiveLine implements Live {
  readonly #stream: NodeJS.WriteStream;
  readonly #look: LiveLook;
  readonly #onResize = (): void => this.#resize();
  #tell: Tell | undefined;
  #spinner: Ora | undefined;
  #isLoading = false;

  constructor(stream: NodeJS.WriteStream, look: LiveLook) {
    this.#stream = stream;
    this.#look = look;
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
      color: this.#look.color ? 'cyan' : false,
      // Ctrl-C is ours (signals.ts), and what is typed ahead is the shell's.
      discardStdin: false,
      isEnabled: true,
    });
    this.#draw();
  }

  /** The spinner takes away one row; what is too long for a terminal made narrower lies in several. */
  #resize(): void {
    const spinner = this.#spinner;
    if (spinner?.isSpinning === true && this.#look.reflows) {
      const rows = Math.ceil((FRAME_COLUMNS - 1 + spinner.text.length) / this.#columns);
      spinner.stop();
      for (let above = 1; above < rows; above += 1) {
        this.#stream.moveCursor(0, -1);
        this.#stream.clearLine(0);
      }
    }
    this.#draw();
  }

  get #columns(): number {
    return this.#stream.columns ?? COLUMNS;
  }

  #draw(): void {
    if (this.#tell === undefined || this.#spinner === undefined) return;
    this.#spinner.text = this.#tell(Math.max(1, this.#columns - FRAME_COLUMNS));
    // ora draws again by itself, which is soon enough.
    if (!this.#spinner.isSpinning) this.#spinner.start();
  }
}
